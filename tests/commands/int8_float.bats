# dq-int8: layers that stay in float, by options and by the search.
load common

@test "dense layers become Gemm, but those that options leave in float" {
  printf '%s\n' "input x -1 6" "a = MatMul x w(6,5)" "b = Add a b(5)" "c = Relu b" "d = MatMul c w(5,4)" "y = Add d b(4)" \
    "output y -1 4" >dense.model
  make_models --describe dense.model dense.onnx
  make_models --array rows.npy 9 6
  layers() { # layers OPTION...: the operators of the table, one letter each, and whether they are in 8 bits
    gives 0 dq-int8 dense.onnx --data npy:rows.npy --all-int8 -o o.onnx "$@"
    sed -nE 's/^([abdy]) +(.)[A-Za-z]+ +(yes|no).*/\1\2\3/p' <<<"$output" | tr '\n' ' '
  }
  [ "$(layers)" = "aGyes dGyes " ]
  [ "$(layers --format qoperator)" = "aGyes dGyes " ]
  [ "$(layers --exclude d)" = "aGyes dMno yAno " ]
  [ "$(layers --exclude y)" = "aGyes dMyes yAno " ]
  [ "$(layers --operators MatMul,Add)" = "aMyes bAyes dMyes yAno " ]
  local named
  for named in d y; do # by either name a map of precisions means the Gemm
    printf '{"schema": "dq-precision", "version": 1, "layers": {"%s": "fp32"}}' $named >p.json
    gives 0 dq-int8 dense.onnx --data npy:rows.npy --precision p.json -o o.onnx
    [[ $output =~ d\ +Gemm\ +no\ .*float32\ by\ --precision ]]
  done
}

@test "a few cheap layers that make most of the noise stay in float, unless all are to be in 8 bits" {
  make_models --array many.npy 17 3 8 8
  far=("$models/far.onnx" --data npy:many.npy --method mse --equalize off)
  gives 0 dq-int8 "${far[@]}" -o a.onnx --all-int8
  has "On 17 pictures that nothing was fitted to, output 'y' has an SQNR of 19.8 dB (95 % interval 18.7 to 20.9)."
  run -1 grep -q "by the search" <<<"$output"
  gives 0 dq-int8 "${far[@]}" -o b.onnx --save-precision p.json
  has "dq-int8: 2 layers in float avoid much of the noise (--all-int8: none). On 8 pictures that nothing was fitted to, output 'y' has an SQNR of 3"
  [ "$(grep -c "by the search" <<<"$output")" -eq 2 ]
  grep -q '"fourth": "fp32"' p.json
  grep -q '"conv2": "fp32"' p.json
  gives 0 dq-report b.onnx --ref "$models/far.onnx" --data npy:many.npy --min-sqnr 30
  gives 0 dq-int8 "${far[@]}" -o c.onnx --precision p.json
  cmp b.onnx c.onnx
  gives 0 dq-int8 "${far[@]}" -o c.onnx --threads 1 --cpu-mask c
  cmp b.onnx c.onnx
  gives 0 dq-int8 "${far[@]}" -o c.onnx --min-sqnr 18 # which all layers in 8 bits reach
  cmp a.onnx c.onnx
  # Fewer than 8 pictures to judge by do not tell a gain from chance: nothing is looked for.
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --per-tensor --percentile 95 -o c.onnx -v
  has "On 6 pictures that nothing was fitted to, output 'y' has an SQNR of 13."
  [[ $stderr != *"much of the noise"* ]]
}

@test "below 20 dB layers stay in float, with at most a tenth of the multiply-accumulates" {
  make_models --array many.npy 17 3 8 8
  far=("$models/far_five.onnx" --data npy:many.npy --method mse --equalize off)
  gives 0 dq-int8 "${far[@]}" -o a.onnx --all-int8
  has "On 17 pictures that nothing was fitted to, output 'y' has an SQNR of 12.5 dB"
  gives 0 dq-int8 "${far[@]}" -o b.onnx --save-precision p.json
  has "dq-int8: 13 layers in float avoid much of the noise (--all-int8: none). On 8 pictures that nothing was fitted to, output 'y' has an SQNR of 2"
  [ "$(grep -c "by the search" <<<"$output")" -eq 13 ]
  gives 0 dq-report b.onnx --json r.json
  int8=$(sed -nE '/"model": \{/,$ s/.*"int8_macs": ([0-9]+).*/\1/p' r.json | head -1)
  macs=$(sed -nE '/"model": \{/,$ s/.*"macs": ([0-9]+).*/\1/p' r.json | head -1)
  [ $((10 * int8)) -ge $((9 * macs)) ]
  [ "$int8" -lt "$macs" ]
  gives 0 dq-report b.onnx --ref "$models/far_five.onnx" --data npy:many.npy --min-sqnr 20
  gives 0 dq-int8 "${far[@]}" -o c.onnx --precision p.json
  cmp b.onnx c.onnx
  gives 0 dq-int8 "${far[@]}" -o c.onnx --threads 1 --cpu-mask c
  cmp b.onnx c.onnx
  # A bound is reached with as little where that will do; else a note says that it takes more.
  gives 0 dq-int8 "${far[@]}" -o c.onnx --min-sqnr 20
  [[ $stderr != *"no layers with at most"* ]]
  gives 0 dq-report c.onnx --json r.json
  int8=$(sed -nE '/"model": \{/,$ s/.*"int8_macs": ([0-9]+).*/\1/p' r.json | head -1)
  [ $((10 * int8)) -ge $((9 * macs)) ]
  gives 1 dq-int8 "${far[@]}" -o c.onnx --min-sqnr 50
  has "dq-int8: no layers with at most 10 % of the multiply-accumulates reach the bounds in float, more are tried with at most 10 % of the weights"
  gives 1 dq-int8 "${far[@]}" -o d.onnx --min-sqnr 50 --max-float 10%
  [[ $stderr != *"no layers with at most"* ]]
  # Fewer than 8 pictures to judge by: no more layers than keep the outputs from being ruined.
  gives 0 dq-int8 "${far[@]}" --limit 10 -o c.onnx
  [[ $stderr != *"much of the noise"* ]]
}
