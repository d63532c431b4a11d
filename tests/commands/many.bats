# Models of very many like parts: time and memory in proportion to their number.
load common

# within SECONDS KIND COUNT STATUS COMMAND...: the command on that model, in so much processor time, which a step that
# takes the square of COUNT would pass several times over; $memory bounds what the command counts of its memory
within() {
  local seconds=$1 kind=$2 count=$3 expected=$4
  shift 4
  if sanitized; then seconds=$((10 * seconds)); fi
  make_models --many "$kind" "$count" "$kind.onnx"
  run --separate-stderr bash -c 'ulimit -t "$1" && shift && exec "$@"' limited "$seconds" "$@" "$kind.onnx" --memory "${memory-1G}" -q
  [ "$status" -eq "$expected" ] && return
  printf '%s on %s %s: status %s, expected %s\n%s\n' "$*" "$count" "$kind" "$status" "$expected" "$stderr"
  return 1
}

@test "attributes of one node" {
  within 10 attributes 100000 0 dq-report
  within 10 attributes 100000 0 dq-amp -o amp.onnx
}

@test "initializers in a file beside the model" {
  within 10 spans 200000 0 dq-report
  [ "$(stat -c %s spans.onnx.data)" -eq 800000 ]
  within 10 spans 200000 0 dq-amp -o amp.onnx
}

@test "opsets that are imported" {
  within 10 opsets 900 0 dq-report
  within 10 opsets 20000 4 dq-report
  has "20001 opsets are imported, at most 1000 are supported"
}

@test "inputs of one node" {
  within 10 concatenation 100000 0 dq-amp -o amp.onnx
  within 10 concatenation 100000 0 dq-report
  within 10 inputs 20000 0 dq-amp -o amp.onnx
}

@test "nodes in a row" {
  within 10 relus 20000 0 dq-amp -o amp.onnx
  within 10 relus 20000 0 dq-report
  within 30 additions 10000 0 dq-int8 --data synth:shapes --limit 1 -o int8.onnx
}

# The histograms of all bins alone would take 200 MB.
@test "convolutions in a row" {
  memory=120M within 30 convolutions 3000 0 dq-int8 --data synth:shapes --limit 1 -o int8.onnx
}

# Rounded weights become inputs of a copy. A list of inputs written anew for each of them would take 1.6 GB.
@test "convolutions in a row to float16" {
  if sanitized; then skip "the sanitizers take more address space"; fi
  make_models --many convolutions 20000 convolutions.onnx
  run --separate-stderr bash -c 'ulimit -v 1000000 && exec dq-amp convolutions.onnx -o amp.onnx --threads 1 --verbose'
  [ "$status" -eq 0 ]
  [[ $stderr != *"rounded to nearest"* ]]
}

# Each addition may be joined with those before and behind it.
@test "residual blocks in a row" {
  within 15 residuals 1000 0 dq-int8 --data synth:shapes --limit 1 -o int8.onnx
}

@test "weights in a row are packed and given back" {
  make_models --array one.npy 1 3 4 4
  within 10 convolutions 40000 0 dq-run --input x=one.npy
}

@test "long names" {
  within 10 long_names 100000 0 dq-report
  within 10 long_names 100000 0 dq-tucker --ratio 0.5 --untimed -o tucker.onnx
}
