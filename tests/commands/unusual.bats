# Models that are valid but out of the ordinary, through every command: what nobody knows, bodies, missing parts.
load common

# words_of MODEL WORDS: with the hint that models with bodies or functions get
words_of() {
  echo "$2"
  [[ $1 != function ]] || echo "hint: put its nodes in place of the calls, as onnx.inliner.inline_local_functions does in Python"
  [[ ! $1 =~ ^(if|loop|scan)$ ]] || echo "hint: export the network without control flow, or fold it for fixed sizes of inputs, as onnxsim does with --overwrite-input-shape"
}

# refused_by_runners MODEL WORDS: 4 with these words from every command that must run the model, and no output
refused_by_runners() {
  local model="$models/$1.onnx" words
  words=$(words_of "$@")
  gives 4 dq-run "$model" --input one.npy
  says "dq-run: $model: $words"
  gives 4 dq-run "$model" --data "npy:$x"
  says "dq-run: $model: $words"
  gives 4 dq-int8 "$model" --data "npy:$x" -o int8.onnx
  says "dq-int8: $model: $words"
  gives 4 dq-report "$model" --data "npy:$x" -q
  says "dq-report: $model: $words"
  gives 4 dq-bench "$model" --runs 1
  says "dq-bench: $model: $words"
  [ -z "$output" ]
  only one.npy
}

# kept_by_others MODEL WORDS: the commands that need not run it work, and write what they do not know to the byte
kept_by_others() {
  local model="$models/$1.onnx" words
  words=$(words_of "$@")
  gives 0 dq-report "$model" --json -
  has "${words%%$'\n'*}"
  has '"unsupported": 1'
  says "dq-report: warning: $model: shapes of some nodes are not known, MACs are a lower bound"
  gives 0 dq-amp "$model" -o amp.onnx
  has "In float16:                  1"
  local compared="dq-amp: the outputs were not compared on noise: ${words%%$'\n'*}"
  [[ $1 != function ]] || compared="dq-amp: warning: functions of the model stay in float32, calls of them: 1; onnx.inliner.inline_local_functions puts their nodes in place of the calls"$'\n'$compared
  says "$compared"
  gives 0 dq-tucker "$model" --energy 0.8 --untimed -o tucker.onnx
  has "1 of 1 convolutions decomposed"
  says "dq-tucker: the outputs were not compared on noise: ${words%%$'\n'*}"
  gives 4 dq-tucker "$model" --macs -10% --untimed -o tucker.onnx --force
  says "dq-tucker: $model: $words"
  for written in amp tucker; do
    [ ! -e "$models/$1.kept" ] || make_models --contains $written.onnx "$models/$1.kept"
    gives 4 dq-run $written.onnx --input one.npy
    says "dq-run: $written.onnx: $words"
    rm $written.onnx
  done
  only one.npy
}

@test "operators, domains, functions and bodies: refused by what runs them, kept by the rest" {
  make_models --array one.npy 1 3 8 8
  while IFS='|' read -r model words; do
    refused_by_runners "$model" "$words"
    kept_by_others "$model" "$words"
  done <<'ROWS'
unknown_operator|node 'strange': operator Frobnicate (opset 13) is not supported
unknown_domain|node 'strange': operator Frobnicate of domain 'com.example' is not supported
function|node 'twice': Twice of domain 'local' is a function of the model, and functions are not run
if|node 'choice': operator If (opset 13) is not supported
loop|node 'repeat': operator Loop (opset 13) is not supported
scan|node 'walk': operator Scan (opset 13) is not supported
ROWS
}

@test "float16 ends in front of what is not known" {
  gives 0 dq-amp "$models/if.onnx" -o amp.onnx --explain --half-io
  [ "$(grep -vE '^-+$' <<<"$output" | head -5)" = \
"Node     Operator  Colour  Precision  Reason
conv     Conv      ALLOW   float16    the operator's colour
choice   If        DENY    float32    its body is left alone
sum      Add       FOLLOW  float32    the type of an input is not known
product  Mul       FOLLOW  float32    the type of an input is not known" ]
  gives 0 dq-amp "$models/loop.onnx" -o amp.onnx --explain
  grep -qE '^repeat +Loop +DENY +float32 +its body is left alone$' <<<"$output"
  gives 0 dq-amp "$models/scan.onnx" -o amp.onnx --explain
  grep -qE '^walk +Scan +DENY +float32 +its body is left alone$' <<<"$output"
}

@test "graphs without outputs" {
  for model in no_outputs nothing; do
    for verb in amp tucker int8; do
      gives 3 convert $verb "$models/$model.onnx" out.onnx
      says "dq-$verb: $models/$model.onnx: the graph has no outputs"
    done
    for words in "run --input $x" "run --data npy:$x" "report" "report --data npy:$x" "bench --runs 1"; do
      gives 3 dq-${words%% *} "$models/$model.onnx" $(cut -s -d' ' -f2- <<<"$words")
      says "dq-${words%% *}: $models/$model.onnx: the graph has no outputs"
      [ -z "$output" ]
    done
  done
  only
}

@test "graphs without inputs" {
  local model="$models/no_inputs.onnx" words="the model has no inputs, pictures need one"
  gives 0 dq-run "$model" --save-output .
  [ "$output" = "y: float32 1x8x8x8" ]
  says ""
  for verb in amp tucker; do
    gives 0 convert $verb "$model" $verb.onnx
    says "dq-$verb: the outputs were not compared on noise: $words"
    mkdir $verb
    dq-run $verb.onnx --save-output $verb >/dev/null
  done
  near amp/y.npy y.npy 0.002
  gives 0 dq-report "$model"
  has "Nodes:            1"
  says ""
  gives 0 dq-bench "$model" --runs 1 -q
  gives 0 dq-int8 "$model" --data "npy:$x" -o int8.onnx # all of it is known before it runs
  says "dq-int8: $model: nothing to do, no operator can be quantized"
  gives 3 dq-run "$model" --data "npy:$x"
  says "dq-run: $model: $words"
  gives 3 dq-report "$model" --data "npy:$x"
  says "dq-report: $model: $words"
  gives 2 dq-run "$model" --input "$x"
  says "dq-run: --input: the model has no inputs"
  [ ! -e out.onnx ]
}

@test "outputs that are initializers or inputs, graphs with no nodes" {
  make_models --array one.npy 1 3 8 8
  for model in initializer_output no_nodes; do
    gives 0 dq-run "$models/$model.onnx" --input one.npy --save-output .
    says ""
    [[ $model != no_nodes ]] || cmp x.npy one.npy
    gives 0 convert amp "$models/$model.onnx" amp.onnx
    says "dq-amp: $models/$model.onnx: nothing to do, no node becomes float16"
    gives 0 convert tucker "$models/$model.onnx" tucker.onnx
    has "dq-tucker: warning: nothing was decomposed, the file is the model as it was: "
    gives 0 convert int8 "$models/$model.onnx" int8.onnx
    says "dq-int8: $models/$model.onnx: nothing to do, no operator can be quantized"
    gives 0 dq-report "$models/$model.onnx"
    has "Nodes:            0"
    says ""
    gives 0 dq-report "$models/$model.onnx" --data "npy:$x" -q
    gives 0 dq-run "$models/$model.onnx" --data "npy:$x"
    gives 0 dq-bench "$models/$model.onnx" --runs 1 -q
    for written in amp tucker int8; do
      mkdir $written
      dq-run $written.onnx --input one.npy --save-output $written >/dev/null
      for array in x y; do [ ! -e $array.npy ] || cmp $array.npy $written/$array.npy; done
      rm -r $written
    done
    rm ./[xy].npy
  done
}

@test "inputs are given by their names" {
  local model="$models/two_inputs.onnx"
  make_models --array a.npy 1 3 8 8
  make_models --array small.npy 1 2
  gives 0 dq-run "$model" --input x=a.npy --input z=a.npy
  [ "$output" = "y: float32 1x8x8x8" ]
  gives 2 dq-run "$model" --input small.npy
  says "dq-run: --input: the model has 2 inputs, give NAME=FILE.npy"
  gives 2 dq-run "$model" --input x=a.npy
  says "dq-run: input 'z' is not given (--input z=FILE.npy)"
  gives 2 dq-run "$model" --input x=a.npy --input z=a.npy --input w=a.npy
  says "dq-run: --input: the model has no input 'w'
hint: did you mean 'x'?"
  gives 2 dq-run "$models/tiny.onnx" --input X=small.npy
  says "dq-run: --input: the model has no input 'X'
hint: did you mean 'x'?"
  gives 3 dq-run "$model" --input x=small.npy --input z=a.npy
  says "dq-run: $model: input 'x': the shape given has 2 dimensions, expected 4"
  for verb in int8 run report; do
    gives 3 dq-$verb "$model" --data "npy:$maps" $([ $verb != int8 ] || echo -o out.onnx)
    says "dq-$verb: $model: the model has 2 inputs, 'x', 'z'; the data are for 1
hint: give the option once for each: x=SPEC, z=SPEC"
  done
}

@test "weights out of the ordinary work and are named in the report" {
  gives 0 dq-report "$models/odd_weights.onnx"
  [ "$(sed -n '/^Weights out of the ordinary/,/^$/p' <<<"$output" | sed 's/ *$//')" = "Weights out of the ordinary
Weight            Elements  Denormal  Channels  all zero  Outlier (times the next)
----------------------------------------------------------------------------------
conv1.weight           216                   8         1
depthwise.weight        72         2
conv2.weight          1152                                                 2.3e+03
head.weight             64                  16        16" ]
  for verb in amp int8 tucker; do
    gives 0 convert $verb "$models/odd_weights.onnx" $verb.onnx
    dq-run $verb.onnx --data "npy:$x" >/dev/null
  done
  gives 0 dq-run "$models/odd_weights.onnx" --data "npy:$x"
  gives 0 dq-bench "$models/odd_weights.onnx" --runs 1 -q
  gives 0 dq-report "$models/nan_weight.onnx"
  [[ $output =~ $'\n'conv2.weight\ +1152\ +1$'\n' ]]
  gives 0 dq-report "$models/small.onnx"
  [[ $output != *ordinary* ]]
}

@test "outputs whose size depends on the picture are not compared" {
  local model=$models/places.onnx
  for rounding in nearest adaptive; do
    gives 0 dq-int8 "$model" --data "npy:$x" -o int8.onnx --rounding $rounding
    has "Quantized:               2"
  done
  gives 0 dq-report int8.onnx --ref "$model" --data "npy:$x"
  has "conv   relu  Relu"
  [[ $output != *nan* && $output != *"SQNR:  "* ]]
  gives 0 dq-report "$model" --sensitivity --data "npy:$x"
  gives 0 dq-amp "$model" -o half.onnx
  [[ $output != *"SQNR on noise"* ]]
  gives 0 dq-tucker "$model" --ratio 0.5 --untimed -o tucker.onnx
  gives 4 dq-tucker "$model" --data "npy:$x" --macs=-10% --untimed -o tucker.onnx
  has "no output is of floats and of one size for all pictures"
}

@test "padding of -infinity in front of a maximum is no range" {
  gives 0 dq-int8 "$models/padded_maximum.onnx" --data "npy:$x" --all-int8 -o int8.onnx
  make_models --array one.npy 1 3 8 8
  outputs "$models/padded_maximum.onnx" float one.npy
  outputs int8.onnx int8 one.npy
  near int8/y.npy float/y.npy 0.02
}

@test "outputs whose names are one as file names get files of their own, in folders that are made" {
  make_models --array one.npy 1 3 8 8
  gives 0 dq-run "$models/colliding_outputs.onnx" --input one.npy --save-output new/folder
  local letters
  letters=$(printf 'n%.0s' {1..180})
  cd new/folder
  only ...npy o_1-2.npy o_1-3.npy o_1-4.npy o_1.npy "$letters-2.npy" "$letters.npy"
  cmp o_1-2.npy o_1.npy # Neg: these have plain names
  cmp o_1-3.npy o_1-4.npy # Relu
  run -1 cmp -s o_1.npy o_1-3.npy
}

@test "shapes that the file declares and its nodes contradict are repaired in what is written, and said once" {
  cat >head.model <<'END'
input x -1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
r = Relu a
g = GlobalAveragePool r
y = Flatten g
output y 7 9 5
END
  make_models --describe head.model head.onnx
  local note="shapes that the model declares contradict its nodes, 1 in all, such as that of output 'y'"
  declared() { make_models --digest "$1" | grep '^output y'; } # FILE
  [ "$(declared head.onnx)" = "output y float32 7 9 5" ]
  repaired() { # FILE
    [ "$(grep -c "$note" <<<"$stderr")" -eq 1 ]
    declared "$1" | grep -qx "output y float32 N 4"
  }
  gives 0 dq-amp head.onnx -o amp.onnx
  repaired amp.onnx
  gives 0 dq-amp head.onnx -o same.onnx --deny-node "*" # nothing becomes float16
  cmp same.onnx head.onnx
  for verb in int8 tucker train; do
    case $verb in
    int8) gives 0 dq-int8 head.onnx --data "npy:$x" -o int8.onnx ;;
    tucker) gives 0 dq-tucker head.onnx --ratio 0.5 --force --untimed -o tucker.onnx ;;
    train) gives 0 dq-train head.onnx --teacher head.onnx --data synth:shapes,size=8,count=8 --val synth:shapes,size=8,count=8 \
      --epochs 1 --batch 4 --lr 1e-9 --keep last -o train.onnx ;;
    esac
    repaired $verb.onnx
  done
  run --separate-stderr dq-mix head.onnx --data "npy:$x" -o mix.onnx --time-limit 0.1s --max-drop 100
  [ "$status" -le 1 ]
  [ -e mix.onnx ] || cp int8.onnx mix.onnx # the machine may be too noisy
  repaired mix.onnx
  gives 0 dq-int8 head.onnx --data "npy:$x" -o trained.onnx --retrain builtin,epochs=1
  repaired trained.onnx
  gives 0 dq-int8 amp.onnx --data "npy:$x" -o again.onnx
  [[ $stderr != *contradict* ]]
}

@test "an output may be computed from a Constant" {
  printf '%s\n' 'input x -1 3' 's = Constant value_float=1.5' 't = Sinh s' 'output t' 'y = MatMul x w(3,3)' 'output y -1 3' >c.model
  make_models --describe c.model c.onnx
  make_models --array x.npy 6 3
  for command in "dq-int8 -o int8.onnx --data npy:x.npy" "dq-tucker -o tucker.onnx --gemm --ratio 0.5 --force" "dq-amp -o amp.onnx"; do
    gives 0 $command c.onnx
  done
}

@test "detections that a TopK sorts are compared with those most like them" {
  cat >sorted.model <<'END'
# The four numbers beside each of the 40 highest
input x -1 3 8 8
c = Conv x w(5,3,3,3) b(5) pads=1,1,1,1
r = Reshape c i(-1,5,64)
t = Transpose r perm=0,2,1
s = Slice t i(4) i(5) i(2)
v,k = TopK s i(40) axis=1
e = Expand k i(1,1,5)
y = GatherElements t e axis=1
output y -1 40 5
END
  make_models --describe sorted.model sorted.onnx
  make_models --array many.npy 17 3 8 8
  gives 0 dq-int8 sorted.onnx --data npy:many.npy -o a.onnx # row by row: 4.1 dB, and 1
  grep -qE "^y +[23][0-9][.]" <<<"$output"
  run -1 grep -q "by the search" <<<"$output"
}
