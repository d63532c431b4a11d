# dq-report: what it says in each form.
load common

@test "a small model" {
  gives 0 dq-report "$models/small.onnx"
  has "conv1"
  has "depthwise"
  says ""
  dq-report "$models/small.onnx" --json a.json --csv a.csv --html a.html >text
  [ "$(cat text)" = "$output" ]
  [[ $(head -c 1 a.json) == "{" ]]
  grep -q '"schema"' a.json
  grep -q conv1 a.csv
  grep -q '<html' a.html
}

@test "the same bytes for any number of threads" {
  dq-report "$models/small.onnx" --json a.json --csv a.csv --html a.html --threads 1 >/dev/null
  dq-report "$models/small.onnx" --json b.json --csv b.csv --html b.html --threads 3 --cpu-mask c >/dev/null
  cmp a.json b.json
  cmp a.csv b.csv
  cmp a.html b.html
}

@test "strange names are escaped" {
  gives 0 dq-report "$models/strange_names.onnx" --json a.json --html a.html
  [[ $(tr -d '\n' <a.html) != *'"<b>'* ]]
  command -v python3 >/dev/null || skip "no python3 to read JSON with"
  python3 -c 'import json; json.load(open("a.json"))'
}

@test "a decomposed and a quantized model against the original" {
  convert tucker "$models/small.onnx" tucker.onnx >/dev/null
  convert int8 "$models/small.onnx" int8.onnx >/dev/null
  for model in tucker int8; do
    gives 0 dq-report $model.onnx --ref "$models/small.onnx" --data "npy:$x"
    has "conv2"
  done
}

@test "answers that are not finite are infinitely bad" {
  gives 0 dq-report "$models/nan_weight.onnx" --ref "$models/small.onnx" --match-names --data "npy:$x" \
    --json a.json --html a.html
  has "Output  SQNR (dB)  Cosine  Largest error  Pictures  Not finite
--------------------------------------------------------------
y            -inf     nan            inf         6          24"
  has "head       head       Gemm               y           -inf        nan            inf          24"
  has "SQNR:                -inf dB"
  gives 0 tr -d ' \n' <a.json
  has '"outputs":[{"output":"y","sqnr":null,"cosine":null,"error":null,"pictures":6,"nonfinite":24}]'
  grep -q '<title>head: -inf dB</title>' a.html
  grep -q '>-inf<' a.html
  gives 0 dq-report "$models/nan_weight.onnx" --ref "$models/small.onnx" --match-names --data "npy:$x" --csv -
  has "head,head,Gemm,y,,-inf,nan,inf,24"
  gives 0 dq-report "$models/nan_weight.onnx" --ref "$models/nan_weight.onnx" --match-names --data "npy:$x"
  has "conv1      conv1      Conv               a            inf"
  has "y              6        24"
}

@test "conditions on the quality of a conversion" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o q.onnx -q
  compared=(--ref "$models/small.onnx" --data "npy:$x")
  gives 0 dq-report q.onnx "${compared[@]}" --csv a.csv
  sqnr=$(grep -oE '^y +[0-9.]+' <<<"$output" | grep -oE '[0-9.]+$' | head -n 1)
  gives 0 dq-report q.onnx "${compared[@]}" --min-sqnr "${sqnr%.*}"
  gives 1 dq-report q.onnx "${compared[@]}" --min-sqnr "$((${sqnr%.*} + 1))" --csv b.csv
  has "dq-report: q.onnx: output 'y' has an SQNR of $sqnr dB, less than $((${sqnr%.*} + 1)) dB (--min-sqnr)"
  cmp a.csv b.csv # the report is written all the same
  gives 1 dq-report "$models/nan_weight.onnx" "${compared[@]}" --match-names --min-sqnr -1000
  has "dq-report: $models/nan_weight.onnx: output 'y' has NaN or infinity where the float model has none, on every picture"
  gives 1 dq-report "$models/nan_weight.onnx" "${compared[@]}" --match-names --min-agreement 1
  has "dq-report: $models/nan_weight.onnx: output 'y' has NaN or infinity where the float model has none, on every picture"
  gives 0 dq-report "$models/small.onnx" "${compared[@]}" --min-agreement 100 --min-sqnr 1000
  gives 1 dq-report "$models/small.onnx" q.onnx "${compared[@]}" --min-sqnr 1000
  has "q.onnx: output 'y' has"
  gives 2 dq-report q.onnx --min-sqnr 30
}

# Boxes of hundreds hide scores in the SQNR of the whole output.
@test "conditions see the scores beside boxes" {
  cat >parts.model <<'EOF'
# Boxes and scores in one output
input x -1 3 8 8
a = Conv x w(8,3,3,3) b(8) pads=1,1,1,1
b = Conv a w(4,8,3,3) b(4) pads=1,1,1,1
c = Mul b s(300)
d = Conv a w(6,8,3,3) b(6) pads=1,1,1,1
e = Sigmoid d
y = Concat c e axis=1
output y -1 10 8 8
EOF
  make_models --describe parts.model parts.onnx
  echo '{"schema": "dq-ranks", "version": 1, "layers": {"d": {"out": 1, "in": 1}}}' >ranks.json
  gives 0 dq-tucker parts.onnx --ranks ranks.json -o ruined.onnx -q
  compared=(ruined.onnx --ref parts.onnx --data "npy:$x")
  gives 0 dq-report "${compared[@]}"
  grep -qE '^y +[5-9][0-9]\.' <<<"$output"
  grep -q "^Parts of outputs" <<<"$output"
  gives 1 dq-report "${compared[@]}" --min-sqnr 20
  has "dq-report: ruined.onnx: channels 4 to 9 of output 'y' have an SQNR of "
  grep -qE '^y +0 to 3 +inf' <<<"$output"
  grep -qE '^y +4 to 9 +[0-9]\.' <<<"$output"
  has "On 6 pictures channels 4 to 9 of output 'y' have the lowest SQNR, "
  gives 1 dq-report parts.onnx "${compared[@]}" --min-sqnr 20
  has "dq-report: ruined.onnx: channels 4 to 9 of output 'y' have an SQNR of "
}

@test "outputs that cannot be written" {
  gives 5 dq-report "$models/small.onnx" --json missing/a.json
  has "missing/a.json: No such file or directory"
  gives 5 dq-report "$models/small.onnx" --json /dev/full
  only
}
