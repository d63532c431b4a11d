# Networks with several inputs, of different ranks and types, in every command that takes data.
load common

setup() {
  own_folder
  make_models --array left.npy 10 3 8 8
  make_models --array right.npy 10 6
  make_models --whole ids.npy 20 10 5
  sides=(--data left=npy:left.npy --data right=npy:right.npy)
}

@test "several inputs: data by name, in any order and form" {
  gives 0 dq-run "$models/sides.onnx" "${sides[@]}" --limit 2
  [ "${#lines[@]}" -eq 12 ]
  [ "${lines[0]}" = "left.npy#0" ]
  [ "${lines[1]}" = "y: float32 1x4" ]
  says ""
  local answers
  answers=$(sed 1d <<<"$output" | sed 's/^right/left/')
  gives 0 dq-run "$models/sides.onnx" --data "right=npy:right.npy;left=npy:left.npy" --limit 2
  [ "$(sed '1d; s/^right/left/' <<<"$output")" = "$answers" ]
  # As an ONNX test suite has them, in the order of the inputs.
  mkdir pb
  make_models --tensor left.npy pb/input_0.pb
  make_models --tensor right.npy pb/input_1.pb
  gives 0 dq-run "$models/sides.onnx" --data pb:pb --limit 2
  [ "$(sed '1d; s/^input_0.pb/left.npy/' <<<"$output")" = "$answers" ]
  # The same elements as arrays.
  make_models --array one.npy 1 3 8 8
  make_models --array six.npy 1 6
  mkdir data input
  dq-run "$models/sides.onnx" --data left=npy:one.npy --data right=npy:six.npy --save-output data -q >/dev/null
  dq-run "$models/sides.onnx" --input left=one.npy --input right=six.npy --save-output input >/dev/null
  near data/000000_y.npy input/y.npy 0.00001
  # A model with one input may have its name said.
  gives 0 dq-run "$models/small.onnx" --data x=npy:left.npy --limit 1
  [ "${lines[0]}" = "left.npy#0" ]
}

@test "several inputs: pictures to one, whole numbers to the other" {
  mkdir -p pictures/a pictures/b
  for i in 0 1 2 3 4; do
    for class in a b; do printf 'P5 8 8 255\n%064d' $i >pictures/$class/$i.pgm; done
  done
  local words=(--data picture=pictures --data ids=npy:ids.npy --preset raw01 --preprocess color=rgb)
  gives 0 dq-run "$models/words.onnx" "${words[@]}" --limit 2
  [ "${lines[0]}" = "a/0.pgm (label 0)" ]
  [ "${lines[6]}" = "b/0.pgm (label 1)" ]
  gives 0 dq-int8 "$models/words.onnx" "${words[@]}" --task none -o int8.onnx
  gives 0 dq-report int8.onnx --ref "$models/words.onnx" "${words[@]}" --task none --json -
  has '"pictures": 10'
  gives 0 dq-amp "$models/words.onnx" --check picture=pictures --check ids=npy:ids.npy --preset raw01 -o half.onnx
  has "0 of 10 layers have values beyond 65504 on 10 pictures."
}

@test "several inputs: quantized, compared, measured, decomposed" {
  local model="$models/sides.onnx"
  gives 0 dq-int8 "$model" "${sides[@]}" -o int8.onnx --table table.json
  [ "$(grep -c ' yes ' <<<"$output")" -eq 10 ]
  gives 0 dq-int8 "$model" --use-table table.json "${sides[@]}" -o again.onnx
  cmp int8.onnx again.onnx
  gives 3 dq-int8 "$model" --use-table table.json --data left=npy:left.npy --data right=npy:ids.npy -o no.onnx
  gives 3 dq-int8 "$model" --use-table table.json --data right=npy:right.npy --data left=npy:left.npy --limit 9 -o no.onnx
  has "the table is of another data"
  gives 0 dq-report int8.onnx --ref "$model" "${sides[@]}"
  [[ $output =~ y\ +(29|3[0-9])\.[0-9]+\ +0\.999 ]]
  # Ranges with margins hold for samples that were not seen (19 dB without margins).
  make_models --array left400.npy 400 3 8 8
  make_models --array right400.npy 400 6
  gives 0 dq-report int8.onnx --ref "$model" --data left=npy:left400.npy --data right=npy:right400.npy
  [[ $output =~ y\ +(29|3[0-9])\.[0-9]+\ +0\.999 ]]
  gives 0 dq-report int8.onnx --overflow "${sides[@]}"
  gives 0 dq-report "$model" --sensitivity "${sides[@]}"
  gives 0 dq-int8 "$model" "${sides[@]}" --rounding adaptive -o adaptive.onnx
  gives 0 dq-int8 "$model" "${sides[@]}" --max-drop 20 -o search.onnx
  gives 0 dq-tucker "$model" "${sides[@]}" --ratio 0.5 --untimed -o small.onnx
  has "2 of 2 convolutions decomposed"
  gives 0 dq-report small.onnx --ref "$model" "${sides[@]}"
}

@test "several inputs: an input without a dimension of samples is one sample" {
  make_models --array size.npy 10 2
  make_models --array gain.npy 10
  local gained=(--data x=npy:left.npy --data size=npy:size.npy --data gain=npy:gain.npy)
  gives 0 dq-run "$models/gained.onnx" "${gained[@]}" --save-output . --limit 3
  make_models --array x.npy 1 3 8 8
  gives 0 dq-int8 "$models/gained.onnx" "${gained[@]}" -o int8.onnx
  gives 0 dq-report int8.onnx --ref "$models/gained.onnx" "${gained[@]}"
  gives 4 dq-int8 "$models/gained.onnx" "${gained[@]}" -o no.onnx --batch 2
  says "dq-int8: inputs 'x', 'size', 'gain' have no common first dimension that counts samples, expected 2 in each
hint: use --batch 1"
}

@test "several inputs: what does not fit is named" {
  local model="$models/sides.onnx" left=left=npy:left.npy
  make_models --array short.npy 8 6
  gives 3 dq-run "$model" --data npy:left.npy
  says "dq-run: $model: the model has 2 inputs, 'left', 'right'; the data are for 1
hint: give the option once for each: left=SPEC, right=SPEC"
  gives 2 dq-run "$model" --data $left
  says "dq-run: input 'right' has no data
hint: give the option once more, with right=SPEC"
  gives 2 dq-run "$model" --data $left --data rigth=npy:right.npy
  says "dq-run: data for input 'rigth': the model has no such input
hint: did you mean 'right'?"
  gives 3 dq-run "$model" --data $left --data right=npy:short.npy
  has "input 'left' has 10 samples (npy:left.npy), input 'right' has 8 (npy:short.npy); expected equal numbers"
  gives 2 dq-run "$model" --data $left --data $left
  says "dq-run: data for input 'left' are given twice"
  gives 3 dq-run "$model" --data $left --data right=npy:left.npy
  says "dq-run: $model: input 'right': left.npy: the array's shape is 10x3x8x8, the model wants Nx6"
  gives 2 dq-run "$model" --data npy:left.npy --data npy:right.npy
  says "dq-run: option '--data' is given twice
hint: a model with several inputs takes --data INPUT=SPEC for each of them"
  gives 2 dq-int8 "$model" --data $left --data right= -o no.onnx
  has "data 'right=': expected NAME=SPEC"
  gives 2 dq-run "$models/small.onnx" --data y=npy:left.npy
  says "dq-run: data for input 'y': the model has no such input
hint: did you mean 'x'?"
  for line in "dq-int8 -o no.onnx" "dq-tucker -o no.onnx --ratio 0.5" "dq-report" "dq-report --sensitivity"; do
    gives 3 $line "$model" --data npy:left.npy
    has "the model has 2 inputs, 'left', 'right'; the data are for 1"
  done
  gives 3 dq-amp "$model" --check npy:left.npy -o no.onnx
  has "the model has 2 inputs, 'left', 'right'; the data are for 1"
  gives 0 dq-report "$models/tokens.onnx" --data tokens=npy:ids.npy
  has "Nx5x4"
  gives 0 dq-report "$models/tokens.onnx" --data tokens=npy:ids.npy --shape tokens=N,5
}

@test "several inputs: memory does not grow with the samples" {
  make_models --array many.npy 4000 3 8 8
  make_models --array beside.npy 4000 6
  local many=(--data left=npy:many.npy --data right=npy:beside.npy) # 3 MiB
  gives 0 dq-report "$models/sides.onnx" --ref "$models/sides.onnx" "${many[@]}" --memory 2M
  gives 5 dq-report "$models/sides.onnx" --ref "$models/sides.onnx" "${many[@]}" --memory 200k
}

@test "several inputs: a retraining hook gets all of them" {
  gives 1 dq-int8 "$models/sides.onnx" "${sides[@]}" -o int8.onnx --retrain 'echo "with $DQ_DATA" >&2; exit 1'
  has "with left=npy:left.npy;right=npy:right.npy"
}

@test "a word in the header of an array that is too long for any key" {
  local length
  for length in 31 32 33; do
    printf '\x93NUMPY\x01\x00\x76\x00%-118s' "{'$(printf 'k%.0s' $(seq $length))': 1}" >long.npy
    gives 3 dq-run "$models/small.onnx" --input x=long.npy
    [ $length -gt 31 ] || has "expected descr, fortran_order or shape"
    [ $length -le 31 ] || has "expected a short text"
  done
}

@test "pictures that are drawn at random, the same of every input" {
  cp "$x" left.npy
  gives 0 dq-run "$models/two_inputs.onnx" --data x=npy:left.npy --data z=npy:left.npy --sample 3 --save-output drawn
  gives 2 dq-run "$models/small.onnx" --data "npy:$x" --sample 3 --limit 2
  has "options '--limit' and '--sample' exclude each other"
  gives 0 dq-run "$models/small.onnx" --data "npy:$x" --sample 3 --save-output one
  gives 0 dq-run "$models/small.onnx" --data "npy:$x" --sample 3 --save-output two --threads 2
  [ "$(ls one | wc -l)" -eq 3 ]
  for file in one/*; do cmp "$file" "two/${file#one/}"; done
  gives 0 dq-run "$models/small.onnx" --data "npy:$x" --sample 3 --seed 5 --save-output other
  run -1 diff -r one other
}
