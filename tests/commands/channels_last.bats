# Networks whose input is N x H x W x C: pictures come as they do to the twin with N x C x H x W.
load common
load pictures

quality() { dq-report "$@" -q --json - | sed -n '/"accuracy"/,$p' | grep '"key"\|"value"'; }

@test "the same answers" {
  pictures 6
  for spec in list.txt synth:shapes,size=8,count=4; do
    gives 0 dq-run "$models/small.onnx" --data $spec --preset vww
    first=$output
    gives 0 dq-run "$models/channels_last.onnx" --data $spec --preset vww
    [ "$output" = "$first" ]
  done
  quality "$models/small.onnx" --data list.txt --preset vww >first
  quality "$models/channels_last.onnx" --data list.txt --preset vww >last
  grep -q top1 first
  cmp first last
}

# What a table holds, by the names that the network with its channels first has.
table() { sed -e '/"model":/d' -e '/"data":/d' -e 's/"turned/"x/' "$1"; }

@test "the same scales, levels and accuracy in 8 bits" {
  pictures 12
  local with
  for with in "list.txt --preset vww" "synth:shapes,size=16,count=12 --preset imagenet"; do
    for model in small channels_last; do
      gives 0 dq-int8 "$models/$model.onnx" --data $with -o $model.onnx --table $model.json --limit 12
      [[ $with == list* ]] || has "Input exact on the 8-bit grid: yes"
      gives 0 dq-run $model.onnx --data $with
      echo "$output" >$model.txt
      quality $model.onnx --data list.txt --preset vww >$model.quality
    done
    table small.json >small.table
    table channels_last.json >channels_last.table
    cmp small.table channels_last.table
    cmp small.txt channels_last.txt
    cmp small.quality channels_last.quality
  done
}

@test "arrays keep their shape" {
  make_models --array last.npy 6 8 8 3
  gives 0 dq-int8 "$models/channels_last.onnx" --data npy:last.npy -o out.onnx
  has "Quantized:               9"
  outputs "$models/channels_last.onnx" a last.npy
  outputs out.onnx b last.npy
  near b/y.npy a/y.npy 0.05
  gives 3 dq-int8 "$models/channels_last.onnx" --data "npy:$x" -o other.onnx
  has "the array's shape is 6x3x8x8, the model wants Nx8x8x3"
}

@test "channels that pictures do not have" {
  pictures 4
  for tool in "dq-int8 $models/five_channels.onnx -o out.onnx" "dq-run $models/five_channels.onnx"; do
    gives 3 $tool --data list.txt --preset vww
    has "${tool%% *}: $models/five_channels.onnx: pictures have 1 or 3 channels, NxCxHxW or NxHxWxC, the model's input is Nx7x7x5"
  done
}
