# dq-bench: what it says; the times themselves are not looked at.
load common

@test "one model, and two against each other" {
  gives 0 dq-bench "$models/small.onnx" --runs 3 --json a.json --csv a.csv
  has "small.onnx"
  grep -q '"schema"' a.json
  convert amp "$models/small.onnx" half.onnx >/dev/null
  gives 0 dq-bench half.onnx --vs "$models/small.onnx" --runs 3 --per-layer --threads 2
  has "half.onnx"
}

@test "wrong command lines" {
  gives 2 dq-bench "$models/small.onnx" --runs 0
  has "option '--runs': '0' is out of range"
  gives 2 dq-bench "$models/small.onnx" --batch 0
  gives 3 dq-bench "$models/small.onnx" --shape x=1,4,8,8
  says "dq-bench: $models/small.onnx: input 'x': dimension 1 is 3, given is 4"
}
