# A precision for each layer: read, written, replayed, and what is refused.
load common

# layers TEXT: the settings file p.json with these layers
layers() { printf '{"schema": "dq-precision", "version": 1,\n "layers": {\n%s}}\n' "$1" >p.json; }

int8() { gives "$1" dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx "${@:2}"; }

@test "float16 and float32 layers" {
  layers '"conv2": "fp16",
"head": "fp32"'
  int8 0 --precision p.json
  has "conv2      Conv               no "
  has "relu2      Relu               no "
  [ "$(grep -c 'float16 by --precision$' <<<"$output")" -eq 2 ]
  [ "$(grep -c 'float32 by --precision$' <<<"$output")" -eq 1 ]
  has "In float16:              2"
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
  outputs out.onnx c "$x" --plain
  near b/y.npy a/y.npy 0.05
  near c/y.npy b/y.npy 0
  gives 0 dq-report out.onnx
  grep -qE '^conv2 +Conv +.* float16 +float16 +fp16' <<<"$output"
  grep -qE '^head +Gemm +.* float32 +float32 +int8, fp32 weights' <<<"$output"
  [ "$(grep -c ' Cast ' <<<"$output")" -eq 2 ]
  int8 0 --precision p.json --format qoperator
  outputs out.onnx d "$x"
  near d/y.npy b/y.npy 0
}

@test "all layers in float16" {
  layers '"conv1": "fp16", "depthwise": "fp16", "conv2": "fp16", "pool": "fp16", "flatten": "fp16", "head": "fp16"'
  int8 0 --precision p.json
  has "Quantized:               0"
  has "In float16:              8"
  [ "$(wc -c <out.onnx)" -lt 6500 ]
}

@test "what is written replays where the classifier is a convolution, which is written as a matrix product" {
  cat >head.model <<'END'
input x -1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
r = Relu a
g = GlobalAveragePool r
c = Conv g w(5,4,1,1) b(5)
y = Flatten c
output y -1 5
END
  make_models --describe head.model head.onnx
  dq-int8 head.onnx --data "npy:$x" -o a.onnx --save-precision p.json -q >/dev/null
  dq-int8 head.onnx --data "npy:$x" -o b.onnx --precision p.json --save-precision q.json -q >/dev/null
  cmp a.onnx b.onnx
  cmp p.json q.json
}

@test "what is written replays" {
  int8 0 --exclude conv2 --save-precision p.json
  [ "$(cat p.json)" = '{
  "schema": "dq-precision",
  "version": 1,
  "layers": {
    "conv1": "int8",
    "relu1": "int8",
    "depthwise": "int8",
    "conv2": "fp32",
    "relu2": "fp32",
    "pool": "int8",
    "flatten": "int8",
    "head": "int8"
  }
}' ]
  mv out.onnx a.onnx
  int8 0 --exclude conv2 --precision p.json --save-precision q.json
  cmp a.onnx out.onnx
  cmp p.json q.json
  # without --exclude, trials are made with all layers in 8 bits: other weights, the same precisions
  int8 0 --precision p.json --save-precision q.json
  cmp p.json q.json
  int8 0 --exclude depthwise --save-precision q.json
  mv out.onnx a.onnx
  int8 0 --precision q.json
  run -1 cmp -s a.onnx out.onnx
  sed -i 's/fp32/fp16/' p.json
  int8 0 --precision p.json --save-precision q.json
  cmp p.json q.json
  run -1 cmp -s a.onnx out.onnx
}

@test "files that are refused" {
  refuses() { # MESSAGE [HINT]
    int8 3 --precision p.json
    says "dq-int8: p.json: $1${2:+
hint: $2}"
    [ ! -e out.onnx ]
  }
  echo "not JSON" >p.json
  refuses "line 1: '[' or '{' expected near 'not'"
  : >p.json
  refuses "line 1: '[' or '{' expected near end of file"
  echo '[]' >p.json
  refuses "schema is '', expected 'dq-precision'"
  echo '{"schema": "dq-ranks", "version": 1}' >p.json
  refuses "schema is 'dq-ranks', expected 'dq-precision'"
  echo '{"schema": "dq-precision", "version": 7}' >p.json
  refuses "version is 7, expected 1"
  echo '{"schema": "dq-precision"}' >p.json
  refuses "'version' is missing, expected 1"
  layers ''
  refuses "'layers' has no layer, expected the precision of one or more"
  layers '"conv1": "int8",
 "covn2": "fp16"'
  refuses "line 4: unknown layer 'covn2'" "did you mean 'conv2'?"
  layers '"conv1": "int4"'
  refuses "line 3: layer 'conv1': unknown precision 'int4', expected int8, fp16 or fp32"
  layers '"conv1": 8'
  refuses "line 3: layer 'conv1': unknown precision, expected int8, fp16 or fp32"
  layers '"conv1": "int8",
"conv1": "fp16"'
  refuses "line 4: duplicate object key near '\"conv1\"'"
  int8 5 --precision missing.json
  int8 5 --save-precision missing/p.json
}

@test "bfloat16 networks are widened too, with inputs and outputs" {
  local model="$models/bfloat16.onnx" ends="; inputs and outputs in bfloat16 become float32"
  make_models --array four.npy 6 4
  make_models --array one.npy 1 4
  gives 0 dq-int8 "$model" --data npy:four.npy --all-int8 -o int8.onnx
  has "dq-int8: $model: 16 weights in bfloat16 are widened to float32 before quantization$ends"
  [[ $stderr != *"nothing to do"* ]]
  gives 0 dq-tucker "$model" --gemm --ratio 0.75 --force --untimed -o tucker.onnx
  has "dq-tucker: $model: 16 weights in bfloat16 are widened to float32 before decomposition$ends"
  run --separate-stderr dq-mix "$model" --data npy:four.npy -o mix.onnx --time-limit 0.1s --max-drop 100
  [ "$status" -le 1 ]
  has "dq-mix: $model: 16 weights in bfloat16 are widened to float32 before quantization$ends"
  outputs int8.onnx a one.npy
  outputs tucker.onnx b one.npy
  gives 0 dq-int8 "$model" --data npy:four.npy -o same.onnx --exclude '*'
  has "nothing to do"
  cmp same.onnx "$model"
}

@test "float16 networks are widened before they are quantized and decomposed, and keep inputs and outputs" {
  gives 0 dq-amp "$models/small.onnx" -o ends.onnx
  gives 0 dq-amp "$models/small.onnx" -o whole.onnx --half-io
  for name in ends whole; do
    gives 0 dq-int8 $name.onnx --data "npy:$x" -o int8.onnx
    has "dq-int8: $name.onnx: 1536 weights in float16 are widened to float32 before quantization"
    [[ $stderr != *"nothing to do"* ]]
    gives 0 dq-report int8.onnx --ref $name.onnx --data "npy:$x" --min-sqnr 30
    gives 0 dq-tucker $name.onnx --ratio 0.9 --force --untimed -o tucker.onnx
    has "dq-tucker: $name.onnx: 1536 weights in float16 are widened to float32 before decomposition"
    gives 0 dq-report tucker.onnx --ref $name.onnx --data "npy:$x"
  done
  for name in int8 tucker; do
    gives 3 dq-run $name.onnx --input "x=$x"
    has "input 'x' is of type float32, expected float16"
  done
  gives 0 dq-int8 whole.onnx --data "npy:$x" -o same.onnx --exclude '*'
  has "whole.onnx: nothing to do"
  cmp same.onnx whole.onnx
}

# Products of 13824, 4608, 73728 and 64 multiply-accumulates with 216, 72, 1152 and 64 weights.
@test "what stays in float: its share of the multiply-accumulates and of the weights" {
  local layer
  make_models --array six.npy 6 3 8 8
  for layer in "conv1 14.99 14.36" "conv2 79.94 76.60" "head 0.07 4.26"; do
    set -- $layer
    gives 0 dq-int8 "$models/small.onnx" --data npy:six.npy --all-int8 -o out.onnx --exclude "$1"
    has "MACs in float:           $2 %
Weights in float:        $3 %"
  done
  gives 0 dq-int8 "$models/small.onnx" --data npy:six.npy --all-int8 -o out.onnx --exclude conv2 --format qoperator
  has "Weights in float:        76.60 %"
}
