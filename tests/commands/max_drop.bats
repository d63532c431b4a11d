# As few layers in float as keep accuracy within a bound.
load common
load pictures

# answers COUNT: pictures whose labels are what the float model says, answers.txt
answers() {
  pictures "$1"
  dq-run "$models/small.onnx" --data list.txt --preset vww --top 1 | awk '/^p/ { name = $1 } /^ / { print name, $1 }' >answers.txt
}

# Ranges that cut hard, so that something is lost.
harsh=(--preset vww --method percentile --percentile 90 --symmetric --per-tensor --equalize off --bias-correction off)

@test "nothing has to stay in float" {
  answers 20
  gives 0 dq-int8 "$models/small.onnx" --data answers.txt --preset vww --max-drop 100 -o a.onnx
  has "dq-int8: --max-drop: 0 layers in float: top-1"
  has "on pictures other than these 20 top-1 loses at most 21.8 points (upper end of the 95 % interval), no more than 100"
  [ "$(grep -c 'layers in float' <<<"$stderr")" -eq 1 ]
  dq-int8 "$models/small.onnx" --data answers.txt --preset vww -o b.onnx -q >/dev/null
  cmp a.onnx b.onnx
}

@test "how many pictures would tell what others lose" {
  answers 40
  gives 0 dq-int8 "$models/small.onnx" --data answers.txt --preset vww --max-drop 5 -o a.onnx
  has "on pictures other than these 40 top-1 loses at most 8.81 points"
  has ", which is more than 5; some 72 pictures would tell"
  gives 0 dq-int8 "$models/small.onnx" --data answers.txt --limit 10 --preset vww --max-drop 5 -o a.onnx
  has "what top-1 loses on other pictures is not known, as it has no interval with so few pictures"
  gives 0 dq-tucker "$root/datasets/shapes.onnx" --data synth:shapes,split=calib,count=8 --eval synth:shapes,count=60 --max-drop 100 -o a.onnx
  has "dq-tucker: --max-drop: on pictures other than these 60 top-1 loses at most"
}

@test "what dq does not know in the file is kept by the search as well" {
  gives 0 dq-int8 "$root/datasets/shapes.onnx" --data synth:shapes --limit 24 --method minmax --max-drop 100 -o a.onnx
  dq-int8 "$root/datasets/shapes.onnx" --data synth:shapes --limit 24 --method minmax -o b.onnx -q >/dev/null
  grep -qa pytorch b.onnx
  cmp a.onnx b.onnx
}

@test "some do, and the answer replays" {
  answers 40
  gives 0 dq-int8 "$models/small.onnx" --data answers.txt "${harsh[@]}" --all-int8 -o plain.onnx -q
  [[ $output != *"top-1   top1  100.0000  100.0000"* ]]
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --eval answers.txt --eval-limit 9 "${harsh[@]}" --all-int8 -o plain.onnx
  has "On 9 pictures that nothing was fitted to, output 'y' has an SQNR of"
  gives 0 dq-int8 "$models/small.onnx" --data answers.txt "${harsh[@]}" --max-drop 0 --save-precision p.json -o a.onnx
  has "points lost, within the bound"
  has "top-1   top1  100.0000  100.0000  0.0000  %           40"
  grep -q '"fp32"' p.json
  for threads in 1 3; do
    dq-int8 "$models/small.onnx" --data answers.txt "${harsh[@]}" --max-drop 0 --threads $threads -o b.onnx -q >/dev/null
    cmp a.onnx b.onnx
  done
  dq-int8 "$models/small.onnx" --data answers.txt "${harsh[@]}" --precision p.json -o b.onnx -q >/dev/null
  cmp a.onnx b.onnx
}

@test "a bound that is not held" {
  answers 40
  gives 1 dq-int8 "$models/small.onnx" --data answers.txt "${harsh[@]}" --max-drop 0 --time-limit 0.0001s -o a.onnx
  has "dq-int8: warning: --max-drop: stopped by the time limit"
  has "dq-int8: top-1 fell by "
  has "points, more than 0 (--max-drop)
hint: a.onnx is written all the same"
  dq-int8 "$models/small.onnx" --data answers.txt "${harsh[@]}" --all-int8 -o plain.onnx -q >/dev/null
  cmp plain.onnx a.onnx
}

@test "without labels answers are compared" {
  pictures 40
  gives 0 dq-int8 "$models/small.onnx" --data list.txt --task none "${harsh[@]}" --max-drop 0 --save-precision p.json -o a.onnx
  has "dq-int8: --max-drop: no labels: answers are compared with those of the float network"
  has "% of the MACs: agreement 100, 0 points lost, within the bound"
  has "on pictures other than these 40 agreement loses at most 8.76 points (upper end of the 95 % interval), which is more than 0"
  has "agreement  agreement  100.0000  100.0000  0.0000  %           40"
  grep -q '"fp32"' p.json
}

# 8 bits round small probabilities to 0, whose logarithm would be infinite: the Log reads its argument in float.
@test "logarithms of small probabilities are finite" {
  gives 0 dq-int8 "$models/log_scores.onnx" --data "npy:$x" --all-int8 -o a.onnx
  has "On 6 pictures that nothing was fitted to, output 'logarithms' has the lowest SQNR"
  has "100 % of the classes (95 % interval 61 to 100) are those of the float model."
  [[ $output$stderr != *NaN* ]]
  gives 0 dq-report a.onnx --ref "$models/log_scores.onnx" --data "npy:$x"
  has "Agreement:           100.00 %"
}

@test "with a file of precisions" {
  echo '{}' >p.json
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" --max-drop 1 --precision p.json -o a.onnx
  gives 2 dq-int8 "$models/small.onnx" --use-table p.json --max-drop 1 -o a.onnx
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" --max-drop -1 -o a.onnx
  [ ! -e a.onnx ]
}

@test "--max-drop: the pictures of --eval choose the layers, so the verdict does not call them new" {
  local words=(--data synth:shapes,split=calib --limit 16 --eval synth:shapes,count=40 --max-drop 100)
  gives 0 dq-int8 "$root/datasets/shapes.onnx" "${words[@]}" -o a.onnx
  has "that the conversion was fitted to, output 'scores'"
  gives 0 dq-tucker "$root/datasets/shapes.onnx" "${words[@]}" --untimed -o b.onnx
  has "On 4 pictures that nothing was fitted to, output 'scores'" # of --data, kept apart
  gives 0 dq-int8 "$root/datasets/shapes.onnx" "${words[@]:0:6}" -o c.onnx
  has "that nothing was fitted to, output 'scores'"
}
