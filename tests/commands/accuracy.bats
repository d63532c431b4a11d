# Accuracy before and after a conversion.
load common
load pictures

# quality MODEL...: what dq-report measures with the options in `with`, one number a line
quality() {
  local model
  for model; do
    dq-report "$model" "${with[@]}" --preset vww -q --json - | sed -n '/"key": "top1"/,/}/s/.*"value": \([0-9.]*\).*/\1/p'
  done
}

# top1 BEFORE AFTER PICTURES: what --json says
top1() {
  has "\"key\": \"top1\",
      \"before\": $1,
      \"after\": $2,"
  has "\"pictures\": $3
    }"
}

@test "labels of the calibration pictures" {
  pictures 12
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --preset vww -o a.onnx
  has "Accuracy
Figure  Key    Before    After  Change  Unit  Pictures
------------------------------------------------------
top-1   top1  16.6667"
  says "dq-int8: task: classify, guessed from the output 1x4 and the labels"
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --preset vww -o a.onnx --json -
  with=(--data list.txt)
  top1 $(quality "$models/small.onnx" a.onnx) 12
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --preset vww --limit 5 -o b.onnx --json -
  with=(--data list.txt --limit 5)
  top1 $(quality "$models/small.onnx" b.onnx) 5
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --preset vww --task none -o c.onnx
  [[ $output != *Accuracy* ]]
  cmp a.onnx c.onnx
}

@test "scores that are not finite are wrong" {
  pictures 12
  gives 0 dq-report "$models/nan_weight.onnx" --data list.txt --preset vww
  has "Figure  Key    Value  Unit  Pictures  Not finite
------------------------------------------------
top-1   top1  0.0000  %           12          12"
  has "dq-report: warning: outputs are NaN or infinite on 12 of 12 pictures; scores that are count as wrong"
}

@test "pictures of their own" {
  pictures 12
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --eval list.txt --preset vww --eval-limit 8 --all-int8 -o a.onnx --json - -q
  with=(--data list.txt --limit 8)
  top1 $(quality "$models/small.onnx" a.onnx) 8
  dq-int8 "$models/small.onnx" --data "npy:$x" --preset vww --all-int8 -o b.onnx --table t.json -q >/dev/null
  cmp a.onnx b.onnx
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json --eval list.txt --preset vww -o b.onnx --json - -q
  with=(--data list.txt)
  top1 $(quality "$models/small.onnx" b.onnx) 12
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" --eval-limit 8 -o b.onnx
  says "dq-int8: option '--eval-limit' needs '--eval'"
}

@test "labels that do not fit, or none" {
  gives 0 dq-int8 "$models/small.onnx" --data synth:shapes,size=8,count=4 -o a.onnx
  says "dq-int8: task: classify, guessed from the output 1x4 and the labels
dq-int8: warning: accuracy is not measured: the labels have 8 classes, the model has 4 outputs"
  [[ $output != *Accuracy* ]]
  gives 3 dq-int8 "$models/small.onnx" --data "npy:$x" --eval synth:shapes,size=8,count=4 -o b.onnx
  says "dq-int8: task: classify, guessed from the output 1x4 and the labels
dq-int8: $models/small.onnx: the labels have 8 classes, the model has 4 outputs"
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --eval "npy:$x" -o c.onnx
  says "dq-int8: npy:$x: no labels: the outputs are compared with those of the float network"
  has "On 6 pictures that nothing was fitted to, output 'y' has an SQNR of"
  [[ $output != *Accuracy* ]]
  gives 3 dq-int8 "$models/small.onnx" --data synth:shapes,size=8,count=4 --task segment -o b.onnx
  gives 5 dq-int8 "$models/small.onnx" --data "npy:$x" --eval missing.txt -o b.onnx
  [ ! -e b.onnx ]
}

@test "a model remembers its preprocessing as it was typed" {
  pictures 4
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --preset vww --preprocess scale=1/128,mean=1/2 -o a.onnx -q
  gives 0 dq-run a.onnx --data list.txt --limit 1
  has "preprocessing: vww,scale=1/128,mean=1/2, as the model remembers"
  remembered=$output
  gives 0 dq-run a.onnx --data list.txt --limit 1 --preset vww --preprocess scale=0.0078125,mean=0.5
  [ "$output" = "$remembered" ]
}
