# dq-report --overflow: the audit of an int8 model.
load common

int8() { dq-int8 "$models/small.onnx" --data "npy:$x" -o q.onnx >/dev/null 2>&1; }

@test "proofs without data" {
  int8
  gives 0 dq-report q.onnx --overflow
  has "Verdicts"
  has "proven"
  [[ $output != *"Clamped"* ]]
}

@test "counts with data, per channel, raw" {
  int8
  gives 0 dq-report q.onnx --overflow --data "npy:$x" --channels --raw --csv a.csv --json a.json
  has "With bias"
  has "Overflow per output channel"
  has "Raw"
  [[ $(head -n 1 a.csv) == node,op,product,product_low,product_high,* ]]
  grep -q '"overflow_verdicts"' a.json
}

@test "the same bytes for any number of threads and instruction set" {
  int8
  local common=(q.onnx --overflow --raw --channels --data "npy:$x")
  dq-report "${common[@]}" --threads 1 --json a.json >/dev/null
  dq-report "${common[@]}" --threads 3 --cpu-mask c --json b.json >/dev/null
  dq-report "${common[@]}" --threads 2 --cpu-mask avx2 --batch 4 --json c.json >/dev/null
  cmp a.json b.json
  cmp a.json c.json
}

@test "a layer's counts are those of its channels" {
  dq-int8 "$models/small.onnx" --data "npy:$x" --accumulator int32 -o i.onnx >/dev/null 2>&1
  dq-report i.onnx --overflow --channels --json c.json >/dev/null
  channels=$(grep -c '"pair_any_order": true' c.json)
  [ "$channels" -gt 0 ]
  [ "$(grep -o '"can_pair_any_order": [0-9-]*' c.json | awk '{ sum += $2 } END { print sum }')" -eq "$channels" ]
}

@test "a condition" {
  int8
  gives 1 dq-report q.onnx --overflow --data "npy:$x" --max-overflow 0 --csv a.csv
  has "--max-overflow"
  [ -s a.csv ]
  gives 0 dq-report q.onnx --overflow --data "npy:$x" --max-overflow 100
}

# rows FILE BYTE...: an array of as many rows of 64 equal bytes
rows() {
  local file=$1 byte
  shift
  printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($#, 64), }" >"$file"
  for byte in "$@"; do printf "%064d" 0 | sed "s/0/\\\\$byte/g" | xargs -0 printf >>"$file"; done
}

# 64 positive weights: no sum and no pair of zeros leaves int16, and all of those of 255 do.
@test "conditions at their bound: as much as is allowed ends with 0" {
  printf '%s\n' 'input x -1 64' 'y = Gemm x p(1,64) transB=1' 'output y -1 1' >sum.model
  make_models --describe sum.model sum.onnx
  rows half.npy 000 377 377 000
  rows none.npy 000 000
  rows all.npy 377
  gives 0 dq-int8 sum.onnx --data npy:half.npy --accumulator int32 --all-int8 -o q.onnx
  gives 0 dq-report q.onnx --overflow --data npy:none.npy --max-overflow 0
  gives 1 dq-report q.onnx --overflow --data npy:half.npy --max-overflow 0
  has "q.onnx: a layer's sums or pairs overflow in 50 %, more than 0 % (--max-overflow)"
  gives 1 dq-report q.onnx --overflow --data npy:half.npy --max-overflow 49.999
  gives 0 dq-report q.onnx --overflow --data npy:half.npy --max-overflow 50
  gives 1 dq-report q.onnx --overflow --data npy:all.npy --max-overflow 99.999
  gives 0 dq-report q.onnx --overflow --data npy:all.npy --max-overflow 100
}

# unproven FILE KEY: the layers of an audit whose KEY is not 0
unproven() { grep -c "\"$2\": [1-9]" "$1" || true; } # no line is an answer, not a failure

@test "safe pairs, by proof" {
  dq-int8 "$models/small.onnx" --data "npy:$x" --accumulator pairs --table t.json -o q.onnx >/dev/null 2>&1
  gives 0 dq-report q.onnx --overflow --data "npy:$x" --json a.json
  [ "$(unproven a.json can_pair)" -eq 0 ]
  [ "$(unproven a.json can32)" -eq 0 ]
  for mask in c avx2 avx512 native; do outputs q.onnx $mask "$x" --cpu-mask $mask; done
  cmp c/y.npy avx2/y.npy
  cmp c/y.npy avx512/y.npy
  cmp c/y.npy native/y.npy
  dq-int8 "$models/small.onnx" --data "npy:$x" --accumulator int32 -o i.onnx >/dev/null 2>&1
  gives 0 dq-report i.onnx --overflow --json b.json
  [ "$(unproven b.json can_pair)" -gt 0 ]
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o again.onnx
  cmp q.onnx again.onnx
  grep -q '"rule": "pairs"' t.json
}

# What dq-int8 says at its end is what the audit says of the same pictures.
@test "the audit after quantization" {
  command -v python3 >/dev/null || skip "no python3 to compare tables with"
  for sums in int32 pairs int16; do
    gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --accumulator $sums -o q.onnx --csv q.csv
    has "Layers safe in int32:    4"
    [ $sums != pairs ] || has "Layers with safe pairs:  4"
    [ $sums != pairs ] || has "Pairs saturated:         0.0000 %"
    dq-report q.onnx --overflow --data "npy:$x" --csv a.csv >/dev/null
    python3 - q.csv a.csv <<'END'
import csv, sys
said = {r["layer"]: r for r in csv.DictReader(open(sys.argv[1])) if r["proven_bits"]}
audited = {r["node"]: r for r in csv.DictReader(open(sys.argv[2]))}
assert said.keys() == audited.keys() and said
for name, row in said.items():
    for key in ("bits", "proven_bits", "clamped", "pair"):
        assert row[key] == audited[name][key], (name, key)
    assert int(row["bits"]) <= int(row["proven_bits"])
END
  done
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --accumulator int16 -o q.onnx --json q.json
  [ "$(grep -c '"block16": [0-9]*[0-9]' q.json)" -eq 4 ]
}

@test "channels that moved are compared where they went" {
  dq-int8 "$models/small.onnx" --data "npy:$x" --equalize off --accumulator pairs -o q.onnx >/dev/null 2>&1
  dq-int8 "$models/small.onnx" --data "npy:$x" --equalize off --accumulator int32 -o i.onnx >/dev/null 2>&1
  for model in q i; do
    gives 0 dq-report "$model.onnx" --ref "$models/small.onnx" --data "npy:$x" --csv "$model.csv"
  done
  [ "$(wc -l <q.csv)" -eq "$(wc -l <i.csv)" ]
}

@test "what does not fit" {
  gives 4 dq-report "$models/small.onnx" --overflow
  has "8-bit operands"
  has "hint: quantize it first"
  gives 2 dq-report q.onnx --channels
  gives 2 dq-report q.onnx --overflow --max-overflow 1
  gives 2 dq-report a.onnx b.onnx --overflow
}
