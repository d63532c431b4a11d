# What each layer alone costs in 8 bits.
load common
load pictures

@test "one row per layer, the most sensitive first" {
  gives 0 dq-report "$models/small.onnx" --sensitivity --data "npy:$x" --limit 4 --csv rows.csv
  has "What each layer alone costs"
  has "all of them"
  has "4 pictures; signal-to-noise ratios are those of the model's outputs with one layer in 8 bits"
  says ""
  [ "$(head -n 1 rows.csv | tr -d '\r')" = layer,op,macs,weight_bytes,sqnr_weights,sqnr_activations,sqnr,agreement,change ]
  [ "$(tail -n +2 rows.csv | cut -d, -f1 | sort | tr '\n' ' ')" = "conv1 conv2 depthwise head pool x " ]
  tail -n +2 rows.csv | cut -d, -f7 | sort -c -g
}

@test "labels, the default limit, the order" {
  pictures 40
  gives 0 dq-report "$models/small.onnx" --sensitivity --data list.txt --preset vww --json - --sort macs
  has '"change": '
  has '"32 pictures; signal'
  [ "$(grep -m1 '"layer"' <<<"$output")" = '      "layer": "conv2",' ]
  gives 0 dq-report "$models/small.onnx" --sensitivity --data list.txt --preset vww --only 'conv*'
  [ "$(grep -c ' Conv  ' <<<"$output")" -eq 2 ]
}

@test "the same at any thread count and on any processor" {
  for options in "--threads 1" "--threads 3" "--cpu-mask c" "--cpu-mask avx2"; do
    dq-report "$models/small.onnx" --sensitivity --data "npy:$x" --limit 6 --json - $options | md5sum
  done | sort -u >sums
  [ "$(wc -l <sums)" -eq 1 ]
}

@test "models and options that do not fit" {
  gives 2 dq-report "$models/small.onnx" --sensitivity
  says "dq-report: option '--sensitivity' needs '--data'"
  gives 2 dq-report "$models/small.onnx" --sensitivity --overflow --data "npy:$x"
  gives 2 dq-report "$models/small.onnx" "$models/shared.onnx" --sensitivity --data "npy:$x"
  says "dq-report: --sensitivity looks at one model at a time"
  gives 4 dq-report "$models/qoperator.onnx" --sensitivity --data "npy:$x" --limit 6
  has "qoperator.onnx: the model is quantized already"
  make_models --array half.npy 2 3 8 8
  gives 4 dq-report "$models/half.onnx" --sensitivity --data npy:half.npy --limit 2
  has "no operator can be quantized"
  gives 3 dq-report "$models/nan_weight.onnx" --sensitivity --data "npy:$x" --limit 6
  has "tensor 'conv2.weight': element 5 is NaN"
}
