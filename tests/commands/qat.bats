# dq-train --qat: training of 8-bit models, what is written, and what does not fit.
load common

few=(--qat int8 --data synth:shapes,split=train,count=64 --val synth:shapes,count=16 --batch 16 --epochs 2 --keep last)

# In worse8.onnx the network of the source lost a third of its answers before it was quantized.
setup() {
  own_folder
  shapes=$root/datasets/shapes.onnx worse=$BATS_FILE_TMPDIR/worse8.onnx
  [ -e "$worse" ] && return
  dq-tucker "$shapes" --ratio 0.4 --untimed -o "$BATS_FILE_TMPDIR/worse.onnx" -q >/dev/null
  dq-int8 "$BATS_FILE_TMPDIR/worse.onnx" --data synth:shapes,split=calib,count=32 -o "$worse" -q >/dev/null
}

top1() { dq-report "$1" --data synth:shapes,count=200 --json - -q | sed -nE 's/.*"value": ([0-9.]+).*/\1/p' | head -n 1; }
field() { sed -nE "s/^ *\"$1\": ([-0-9.]+).*/\1/p" "$2" | tail -n 1; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }
layers() { dq-report "$1" --csv - -q; }

@test "accuracy of an 8-bit model rises, and the figure is that of dq-report" {
  local words=(--qat int8 --data synth:shapes,split=train,count=256 --val synth:shapes,count=200 --batch 32 --epochs 2)
  gives 0 dq-train "$worse" "${words[@]}" --teacher "$shapes" --lr 0.002 -o out.onnx --json facts.json
  before=$(field before facts.json) after=$(field after facts.json)
  at_least "$after" 85
  awk -v a="$after" -v b="$before" 'BEGIN { exit !(a > b + 5) }'
  [ "$(top1 "$worse")" = "$before" ]
  [ "$(top1 out.onnx)" = "$after" ]
  only out.onnx facts.json
}

# Names, operators, shapes, types, parameters and bytes.
@test "what is written has the layers of what was read, all in 8 bits" {
  dq-train "$worse" "${few[@]}" -o out.onnx -q
  layers "$worse" >a.txt
  layers out.onnx >b.txt
  cmp a.txt b.txt
  grep -q int8 a.txt
  run -1 cmp -s "$worse" out.onnx
}

@test "labels alone, sgd, and layers that are frozen" {
  gives 0 dq-train "$worse" "${few[@]}" --optimizer sgd --lr 1e-6 -o out.onnx
  run -1 cmp -s "$worse" out.onnx
  gives 0 dq-train "$worse" "${few[@]}" --freeze '/residual/*' -o frozen.onnx
  run -1 cmp -s frozen.onnx out.onnx
}

@test "the same bytes for 1, 2 and 3 threads" {
  for threads in 1 2 3; do
    dq-train "$worse" "${few[@]}" --augment flip,crop=4 -o $threads.onnx --threads $threads -q
  done
  cmp 1.onnx 2.onnx
  cmp 1.onnx 3.onnx
}

@test "scales are in the checkpoint" {
  dq-train "$worse" "${few[@]}" -o whole.onnx -q
  dq-train "$worse" "${few[@]}" -o out.onnx --time-limit 0.001s --checkpoint state -q
  gives 0 dq-train "$worse" "${few[@]}" -o out.onnx --checkpoint state --resume
  has "continues after step 1 of epoch 1"
  cmp out.onnx whole.onnx
}

@test "what does not fit" {
  gives 3 dq-train "$shapes" "${few[@]}" -o o.onnx
  says "dq-train: the model has no weight of 8 bits in front of a DequantizeLinear that is trained
hint: dq-int8 MODEL --data SPEC -o OUT writes such a model, without --format qoperator"
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --freeze '*'
  has "no weight of 8 bits in front of a DequantizeLinear that is trained"
  gives 2 dq-train "$worse" "${few[@]/int8/int4}" -o o.onnx
  has "int4"
  dq-int8 "$shapes" --data synth:shapes,count=8 --format qoperator -o ../operators.onnx -q >/dev/null
  gives 4 dq-train ../operators.onnx "${few[@]}" -o o.onnx
  has "training needs a QuantizeLinear in front of it, as dq-int8 writes it without --format qoperator"
  gives 3 dq-train "$worse" "${few[@]:2}" -o o.onnx
  says "dq-train: the model has no weight of float32 or float16 that is trained
hint: models of dq-int8 are trained with --qat int8"
  only
}

@test "one scale for a whole weight, and bytes around zero" {
  dq-int8 "$shapes" --data synth:shapes,split=calib,count=8 --per-tensor --symmetric -o ../whole8.onnx -q >/dev/null
  gives 0 dq-train ../whole8.onnx "${few[@]}" -o out.onnx
  run -1 cmp -s ../whole8.onnx out.onnx
}
