# dq-bench: what it tells; the figures themselves are the machine's.
load common

@test "one model" {
  gives 0 dq-bench -q "$models/small.onnx" --runs 6 --warmup 1 --per-layer --json - --csv models.csv
  has '"schema": "dq-bench"'
  has '"runs": 6'
  has '"node": "conv1"'
  [[ $output != *'"verdict"'* ]]
  [ "$(wc -l <models.csv)" -eq 2 ]
}

@test "several models in turns, against a reference" {
  convert int8 "$models/small.onnx" int8.onnx >/dev/null
  gives 0 dq-bench -q int8.onnx --vs "$models/small.onnx" --runs 6 --threads 1 --csv -
  [[ ${lines[1]} == "$models/small.onnx,"*",reference,"* ]]
  [[ ${lines[2]} == int8.onnx,* ]]
  [[ ${lines[2]} =~ ,(faster|slower|cannot\ tell), ]]
}

@test "broken inputs" {
  gives 5 dq-bench nowhere.onnx
  says "dq-bench: nowhere.onnx: No such file or directory"
  gives 2 dq-bench "$models/small.onnx" --runs 0
  has "option '--runs'"
  gives 2 dq-bench
}
