# The retraining hook of dq-int8 and dq-amp: the same as dq-tucker's (retrain.bats has all that can go wrong).
load common
load pictures

int8() { gives "$1" dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --retrain "$2" "${@:3}"; }
amp() { gives "$1" dq-amp "$models/small.onnx" -o out.onnx --retrain "$2" "${@:3}"; }

verdict() { sed -n 's/.* has an SQNR of \(-*[0-9.]*\) dB[. ].*/\1/p' <<<"$output"; }

@test "what the hooks get" {
  int8 0 'cmp "$DQ_MODEL" out.onnx && cp "$DQ_SPEC" spec.json && echo "data is $DQ_DATA" && cp "$DQ_MODEL" "$DQ_OUTPUT"' --exclude conv2
  has "data is npy:$x"
  has "Quantized:               6"
  [ "$(tr -d '\n ' <spec.json)" = '{"schema":"dq-hook","version":1,"tool":"dq-int8","layers":[{"layer":"conv1","precision":"int8"},{"layer":"relu1","precision":"int8"},{"layer":"depthwise","precision":"int8"},{"layer":"conv2","precision":"fp32"},{"layer":"relu2","precision":"fp32"},{"layer":"pool","precision":"int8"},{"layer":"flatten","precision":"int8"},{"layer":"head","precision":"int8"}]}' ]
  only out.onnx spec.json
  amp 0 'cmp "$DQ_ORIGINAL" '"$models"'/small.onnx && cp "$DQ_SPEC" spec.json && echo "data is $DQ_DATA" && cp "$DQ_MODEL" "$DQ_OUTPUT"' --data some:SPEC
  has "data is some:SPEC"
  grep -q '"tool": "dq-amp"' spec.json
  grep -q '"precision": "fp16"' spec.json
  only out.onnx spec.json
}

@test "what dq-amp names to a hook: nodes that compute with floats" {
  printf 'input x 1 3 8 8\nc = Conv x w(4,3,3,3)\ns = Shape c\nr = Relu c\ny = Reshape r s\noutput y 1 4 6 6\n' >t
  make_models --describe t shape.onnx
  gives 0 dq-amp shape.onnx -o out.onnx --retrain 'cp "$DQ_SPEC" spec.json; cp "$DQ_MODEL" "$DQ_OUTPUT"'
  [ "$(tr -d '\n ' <spec.json)" = '{"schema":"dq-hook","version":1,"tool":"dq-amp","layers":[{"layer":"c","precision":"fp16"},{"layer":"r","precision":"fp16"},{"layer":"y","precision":"fp16"}]}' ]
}

# A hook that writes the same network with other numbers: ranges that cut more.
change='dq-int8 "$DQ_ORIGINAL" --data "$DQ_DATA" --preset vww --equalize off --accumulator int32 --percentile 90 -o "$DQ_OUTPUT" -q >hook.log'

@test "what the hook wrote is taken, and its accuracy is told" {
  pictures 8
  dq-int8 "$models/small.onnx" --data list.txt --preset vww --equalize off --accumulator int32 -o plain.onnx -q >/dev/null
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --preset vww --equalize off --accumulator int32 -o out.onnx --retrain "$change"' && cp "$DQ_OUTPUT" written'
  [ "$(grep top1 <<<"$output")" = "$(grep top1 hook.log)" ]
  cmp written out.onnx
  run -1 cmp -s plain.onnx out.onnx
}

@test "a hook that fails leaves the converted model, and the tables are told" {
  dq-int8 "$models/small.onnx" --data "npy:$x" -o plain.onnx -q >/dev/null
  int8 1 'exit 3'
  has "dq-int8: retraining hook: the command ended with exit status 3"
  has "hint: out.onnx holds the quantized model"
  has "Quantized:               8"
  cmp plain.onnx out.onnx
  int8 1 'cp "$DQ_ORIGINAL" "$DQ_OUTPUT"'
  has "node 'x_QuantizeLinear' is missing"
  cmp plain.onnx out.onnx
  int8 1 'sleep 9' --time-limit 0.3s
  has "time limit of 0.3 s"
  dq-amp "$models/small.onnx" -o plain.onnx -q >/dev/null
  amp 1 'cp "$DQ_ORIGINAL" "$DQ_OUTPUT"'
  has "dq-amp: retraining hook: "
  has "hint: out.onnx holds the converted model"
  cmp plain.onnx out.onnx
}

# A hook that hands back what the conversion lost less by: the verdict is that of its model.
@test "the verdict is that of what the hook wrote" {
  dq-int8 "$models/small.onnx" --data "npy:$x" --all-int8 --percentile 60 --equalize off --accumulator int32 -o bad.onnx -q >/dev/null
  int8 0 'cp bad.onnx "$DQ_OUTPUT"' --equalize off --accumulator int32
  after=$(verdict)
  has "On 3 pictures that the conversion was fitted to, output 'y' has an SQNR of"
  int8 1 'cp bad.onnx "$DQ_OUTPUT"' --equalize off --accumulator int32 --min-sqnr 20
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --equalize off --accumulator int32 -o plain.onnx
  before=$(verdict)
  awk "BEGIN { exit !($after + 5 < $before) }"
  gives 0 dq-amp "$models/small.onnx" --rounding nearest -o nearest.onnx
  sqnr=$(verdict)
  amp 0 'cp nearest.onnx "$DQ_OUTPUT"'
  [ "$(verdict)" = "$sqnr" ]
  gives 0 dq-amp "$models/small.onnx" -o plain.onnx
  [ "$(verdict)" != "$sqnr" ]
}

# Of pictures that were not trained on.
top1() { dq-report "$1" --data synth:shapes,count=500 --json - -q | sed -nE 's/.*"value": ([0-9.]+).*/\1/p' | head -n 1; }

@test "builtin trains a quantized model towards the original, without labels" {
  shapes=$root/datasets/shapes.onnx
  words=("$shapes" --data synth:shapes,split=calib,count=64 --percentile 90 --equalize off --bias-correction off --all-int8)
  gives 0 dq-int8 "${words[@]}" -o plain.onnx
  gives 0 dq-int8 "${words[@]}" -o out.onnx --retrain builtin,epochs=6,lr=0.001
  has "pictures that the conversion was fitted to, output 'scores' has an SQNR of"
  before=$(top1 plain.onnx) after=$(top1 out.onnx)
  awk "BEGIN { exit !($after > $before + 2) }"
  [ "$(dq-report out.onnx --json - -q | grep -c QuantizeLinear)" = "$(dq-report plain.onnx --json - -q | grep -c QuantizeLinear)" ]
  gives 0 dq-int8 "${words[@]}" -o again.onnx --retrain builtin,epochs=6,lr=0.001 --threads 1
  cmp again.onnx out.onnx
  gives 1 dq-int8 "${words[@]}" -o worse.onnx --retrain builtin,epochs=1,lr=10
  cmp worse.onnx plain.onnx
}

@test "builtin trains weights that stay float16, without labels" {
  shapes=$root/datasets/shapes.onnx
  words=("$shapes" --rounding nearest --data synth:shapes,split=calib,count=128 --check synth:shapes,count=40)
  gives 0 dq-amp "${words[@]:0:3}" --check synth:shapes,count=40 -o plain.onnx
  before=$(verdict)
  has "that nothing was fitted to"
  gives 0 dq-amp "${words[@]}" -o out.onnx --retrain builtin,epochs=6,batch=8
  after=$(verdict)
  has "that the conversion was fitted to"
  awk "BEGIN { exit !($after > $before + 1) }"
  run -1 cmp -s out.onnx plain.onnx
  # The same nodes and types, and the same answers on any number of threads.
  dq-report plain.onnx --csv plain.csv -q >/dev/null
  dq-report out.onnx --csv out.csv -q >/dev/null
  cmp plain.csv out.csv
  grep -q fp16 out.csv
  gives 0 dq-amp "${words[@]}" -o again.onnx --retrain builtin,epochs=6,batch=8 --threads 3
  cmp again.onnx out.onnx
  gives 0 dq-amp "${words[@]}" -o halves.onnx --retrain builtin,epochs=6,batch=8 --half-io
  gives 1 dq-amp "${words[@]}" -o worse.onnx --retrain builtin,epochs=1,lr=10
  has "worse.onnx holds the converted model"
  cmp worse.onnx plain.onnx
  gives 0 dq-amp "${words[@]:0:5}" -o alone.onnx --retrain builtin,epochs=1,lr=1e-8
  has "the epochs are judged on the pictures of --data; --check gives others"
}

@test "usage" {
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --retrain builtin,epochs=0
  has "builtin: epochs is '0', expected a whole number from 1 to 1e+06"
  amp 2 builtin
  says "dq-amp: --retrain builtin needs the pictures of --data"
  amp 2 builtin,lr=x --data "npy:$x"
  has "builtin: lr is 'x', expected 1e-12 to 1e+06"
  amp 5 builtin --data "npy:missing.npy"
  has "missing.npy: No such file or directory"
  amp 2 builtin --preset vww
  says "dq-amp: --retrain builtin needs the pictures of --data"
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" -o - --retrain true
  says "dq-int8: --retrain needs files to read and to write, not '-'"
  gives 2 dq-amp "$models/small.onnx" -o out.onnx --data some:SPEC
  says "dq-amp: option '--data' needs '--retrain'"
  only ""
}
