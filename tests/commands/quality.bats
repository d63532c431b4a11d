# Floors of quality: what networks answer after a conversion is near to what they answered before, on pictures that
# nothing was chosen on. Answers are the same on every processor, so a floor that is passed is a change of the code.
load common

# at_least SQNR MODEL CONVERTED [OPTION...]: the signal-to-noise ratio of the outputs in dB
at_least() {
  local reached
  dq-report "$3" --ref "$2" --data synth:shapes,split=test,count=200 --task none -q "${@:4}" >said
  reached=$(sed -nE 's/^SQNR: +([0-9.]+) dB$/\1/p' said)
  echo "$2 ${*:4}: $reached dB, at least $1"
  awk -v reached="$reached" -v floor="$1" 'BEGIN { exit !(reached + 0 >= floor + 0) }'
}

int8() { dq-int8 "$1" --data synth:shapes,split=calib,count=64 --task none -o q.onnx -q "${@:2}" >/dev/null; }

@test "a trained network in 8 bits" {
  local floor options shapes="$root/datasets/shapes.onnx"
  while IFS='|' read -r floor options; do
    echo "$options"
    int8 "$shapes" $options
    at_least "$floor" "$shapes" q.onnx
  done <<'ROWS'
35|
36|--method minmax
36|--per-tensor
33|--symmetric --activations s8
38|--accumulator pairs
36|--accumulator int16
35|--rounding adaptive
35|--equalize off --bias-correction off --range-search off
35|--format qoperator
ROWS
}

@test "networks with random weights in 8 bits: a residual one, one with squeezes and gates" {
  make_networks resnet50 16 residual.onnx
  int8 residual.onnx --preset imagenet
  at_least 29 residual.onnx q.onnx --preset imagenet
  make_networks efficientnetv2_s 8 gates.onnx
  int8 gates.onnx --preset imagenet --equalize off --bias-correction off --range-search off
  at_least 22 gates.onnx q.onnx --preset imagenet
}

@test "a trained network in float16, and decomposed" {
  local shapes="$root/datasets/shapes.onnx"
  dq-amp "$shapes" -o half.onnx -q >/dev/null
  at_least 67 "$shapes" half.onnx
  dq-tucker "$shapes" --macs -25% --untimed --data synth:shapes,split=calib,count=64 --task none -o tucker.onnx -q >/dev/null
  at_least 24 "$shapes" tucker.onnx
}
