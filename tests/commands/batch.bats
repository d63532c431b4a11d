# --batch: the same answers whatever the number of pictures in a run.
load common

pictures=synth:shapes,count=25,split=calib

setup() {
  own_folder
  shapes=$root/datasets/shapes.onnx
}

@test "--batch: dq-run gives the same answers" {
  for batch in 1 4 25 30; do
    mkdir $batch
    dq-run "$shapes" --data $pictures --batch $batch --save-output $batch -q >$batch.txt
    [ "$(grep -c '^scores: float32 1x8$' $batch.txt)" -eq 25 ]
    cmp 1.txt $batch.txt
    diff -r 1 $batch
  done
  [ "$(find 4 -type f | wc -l)" -eq 25 ]
}

@test "--batch: dq-int8 and dq-tucker write the same bytes" {
  for batch in 1 4 30; do
    dq-int8 "$shapes" --data $pictures --batch $batch --table $batch.json -o int8_$batch.onnx -q >/dev/null
    cmp int8_1.onnx int8_$batch.onnx
    cmp 1.json $batch.json
    dq-tucker "$shapes" --data $pictures --batch $batch --ratio 0.5 --untimed -o tucker_$batch.onnx -q >tucker_$batch.txt
    cmp tucker_1.onnx tucker_$batch.onnx
    cmp tucker_1.txt tucker_$batch.txt
    dq-int8 "$models/small.onnx" --data "npy:$x" --equalize on --bias-correction on --batch $batch -o forced_$batch.onnx -q >/dev/null
    cmp forced_1.onnx forced_$batch.onnx
  done
  dq-tucker "$shapes" --data $pictures --batch 4 --ratio 0.5 --gemm --refine --untimed -o gemm_4.onnx -q >/dev/null
  dq-tucker "$shapes" --data $pictures --ratio 0.5 --gemm --refine --untimed -o gemm_1.onnx -q >/dev/null
  cmp gemm_1.onnx gemm_4.onnx
}

@test "--batch: several inputs" {
  make_models --array left.npy 10 3 8 8
  make_models --whole ids.npy 20 10 5
  local words=(--data picture=npy:left.npy --data ids=npy:ids.npy)
  for batch in 1 3; do
    dq-run "$models/words.onnx" "${words[@]}" --batch $batch -q >$batch.txt
    dq-int8 "$models/words.onnx" "${words[@]}" --batch $batch -o int8_$batch.onnx -q >/dev/null
  done
  cmp 1.txt 3.txt
  cmp int8_1.onnx int8_3.onnx
}

@test "--batch: a model that fixes its batch says so, once, and keeps it" {
  for line in "dq-run" "dq-int8 -o out.onnx" "dq-tucker -o out.onnx --ratio 0.5 --untimed"; do
    gives 0 $line "$models/shared.onnx" --data "npy:$maps" --batch 4
    [ "$(grep -c 'the model fixes its batch to 1$' <<<"$stderr")" -eq 1 ]
  done
}

@test "--batch: a model of two pictures at a time takes no other number" {
  gives 4 dq-run "$models/small.onnx" --data "npy:$x" --shape x=2,3,8,8 --batch 3
  has "small.onnx: the network has a fixed batch of 2, expected 3"
  has "hint: use --batch 2"
  dq-run "$models/small.onnx" --data "npy:$x" --shape x=2,3,8,8 >two.txt
  dq-run "$models/small.onnx" --data "npy:$x" >one.txt
  cmp one.txt two.txt
}

@test "--batch: a network of two pictures is judged two by two, whatever the number asked for" {
  for batch in 2 3; do
    gives 0 dq-tucker "$models/small.onnx" --shape x=2,3,8,8 --batch $batch --plain --data "npy:$x" --ratio 0.5 --untimed -o out.onnx --force
    has "fixes its batch to 2"
    has "has an SQNR of"
  done
}

@test "--batch: values that have no part for each picture are named" {
  gives 4 dq-run "$models/places.onnx" --data "npy:$x" --shape x=2,3,8,8 --batch 2
  has "value 'y' is"
  has "hint: use --batch 1"
}

@test "--batch: takes no more memory than --memory" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --batch 2 --memory 8M -o out.onnx
  for line in "dq-run" "dq-int8 -o no.onnx" "dq-tucker -o no.onnx --ratio 0.5"; do
    gives 5 $line "$models/small.onnx" --data "npy:$x" --batch 20000 --memory 8M
    has "memory"
  done
  only out.onnx
}
