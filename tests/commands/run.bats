# dq-run: answers, arrays in and out.
load common

@test "arrays in, arrays out" {
  mkdir out
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --save-output out --top 2
  [ "${lines[0]}" = "y: float32 6x4" ]
  [ "${#lines[@]}" -eq 13 ]
  says ""
  dq-run "$models/small.onnx" --input "$x" --save-output . --threads 3 --cpu-mask c >/dev/null
  cmp out/y.npy y.npy
  dq-run "$models/small.onnx" --input "$x" --save-output . --plain >/dev/null
  near y.npy out/y.npy 0.00001
}

@test "sizes of --shape beside those of --input" {
  for shape in x=N,3,8,8 8,8 '*,3,?,8'; do gives 0 dq-run "$models/small.onnx" --input "x=$x" --shape "$shape"; done
  for shape in x=6,3,9,9 9,8 x=1,3,8,8 1,6,3,8,8; do
    gives 2 dq-run "$models/small.onnx" --input "x=$x" --shape 8,8 --shape "$shape"
    says "dq-run: --shape $shape contradicts $x, whose shape is 6x3x8x8"
    gives 2 dq-run "$models/small.onnx" --input "$x" --shape "$shape"
    has "--shape $shape contradicts"
  done
}

@test "answers that are NaN are said to be, and come last" {
  cp "$x" spoilt.npy
  printf '\0\0\300\177' | dd of=spoilt.npy bs=1 seek=128 conv=notrunc status=none # an element of the first picture
  gives 0 dq-run "$models/small.onnx" --input spoilt.npy
  [ "${lines[0]}" = "y: float32 6x4, 4 of 24 scores are NaN or infinite" ]
  gives 0 dq-run "$models/small.onnx" --input "$x"
  [ "${lines[0]}" = "y: float32 6x4" ]
  gives 0 dq-run "$models/odd_scores.onnx" --input "$x"
  [ "${lines[0]}" = "scores: float32 6x4, 12 of 24 scores are NaN or infinite" ]
  [[ ${lines[1]} =~ ^\ *1\ *inf ]]
  [[ ${lines[4]} =~ ^\ *2\ *-?nan ]]
}

@test "int8 models give the same bits on every processor" {
  convert int8 "$models/small.onnx" int8.onnx >/dev/null
  outputs int8.onnx native "$x"
  for mask in c avx2 avx512; do
    for threads in 1 3; do
      outputs int8.onnx masked "$x" --cpu-mask $mask --threads $threads
      cmp native/y.npy masked/y.npy
    done
  done
}

@test "float16 sums have the same bits with and without float16 arithmetic" {
  dq-amp "$models/small.onnx" -o half.onnx >/dev/null
  outputs half.onnx native "$x" --accumulate fp16 2>/dev/null
  outputs half.onnx sums32 "$x"
  gives 0 dq-run half.onnx --input "$x" --save-output . --accumulate fp16 --cpu-mask avx512 --threads 3
  says "dq-run: warning: this machine has no float16 arithmetic (AVX512-FP16): float16 sums are emulated, which is slow"
  cmp native/y.npy y.npy
  near native/y.npy sums32/y.npy 0.01
  gives 2 dq-run half.onnx --input "$x" --accumulate fp64
  has "'--accumulate'"
}

@test "convolutions by other algorithms" {
  outputs "$models/small.onnx" direct "$x"
  outputs "$models/small.onnx" other "$x" --conv winograd
  near direct/y.npy other/y.npy 0.0001
  outputs "$models/small.onnx" same "$x" --conv auto --conv '*=direct'
  cmp direct/y.npy same/y.npy
  gives 2 dq-run "$models/small.onnx" --input "$x" --conv direct,auto
  says "dq-run: option '--conv': one algorithm for all layers, 2 given"
}

@test "pictures" {
  gives 0 dq-run "$models/small.onnx" --data "npy:$x" --limit 2 --top 1
  [ "${#lines[@]}" -eq 6 ]
}

@test "wrong command lines and arrays" {
  gives 2 dq-run
  has "no MODEL given"
  gives 2 dq-run "$models/small.onnx" --input "$x" --data "npy:$x"
  has "options '--input' and '--data' exclude each other"
  gives 2 dq-run "$models/small.onnx"
  says "dq-run: input 'x' is not given (--input x=FILE.npy)"
  gives 2 dq-run "$models/small.onnx" --shape x=1,3,8,8
  says "dq-run: input 'x' is not given (--input x=FILE.npy)"
  make_models --array five.npy 1 5 8 8
  gives 3 dq-run "$models/small.onnx" --input five.npy
  has "input 'x'"
  gives 5 dq-run "$models/small.onnx" --input missing.npy
  has "missing.npy: No such file or directory"
  gives 5 dq-run "$models/small.onnx" --input "$x" --save-output "$x/folder"
  has "Not a directory"
}

@test "a closed pipe ends quietly" {
  run bash -c 'dq-run "$models/small.onnx" --data "npy:$x" | head -n 1; exit ${PIPESTATUS[0]}'
  [ "$status" -eq 0 ] || [ "$status" -eq 141 ]
}

@test "strange names stay in their lines" {
  make_models --array four.npy 1 4
  gives 0 dq-run "$models/strange_names.onnx" --input four.npy
  [ "${lines[0]}" = 'y,"&: float32 1x4' ]
  [ "${#lines[@]}" -eq 5 ]
  gives 2 dq-run "$models/strange_names.onnx" # the input's name has a line's end
  [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "names of classes with a folder of class folders" {
  local i
  mkdir -p tree/safe tree/unsafe
  for i in 1 2; do printf 'P6 8 8 255\n%0192d' $i | tee tree/safe/$i.ppm >tree/unsafe/$i.ppm; done
  printf '%s\n' unsafe other more safe >names.txt
  gives 0 dq-run "$models/small.onnx" --data tree --labels names.txt --preset vww --top 4
  has "safe/1.ppm (label 3)"
  has "unsafe/2.ppm (label 0)"
  for i in unsafe other more safe; do has "  $i"; done
  printf '%s\n' one two >names.txt
  gives 0 dq-run "$models/small.onnx" --data tree --labels names.txt --preset vww
  has "names.txt: line 1 names the class of folder 'safe', and so on in sorted order"
  printf '%s\n' one two three >names.txt
  gives 3 dq-run "$models/small.onnx" --data tree --labels names.txt --preset vww
  says "dq-run: $models/small.onnx: names.txt: 3 names for 2 class folders, 'safe' is not among them
hint: expected the names of the folders, in the order of the model's classes, or as many other names as there are folders, in their sorted order; or a list with lines 'relative/path label'"
}

@test "a single picture is worth a warning, unless it was asked for" {
  make_models --array one.npy 1 3 8 8
  gives 0 dq-run "$models/small.onnx" --data npy:one.npy
  has "warning: npy:one.npy: a single picture"
  gives 0 dq-run "$models/small.onnx" --data npy:one.npy --limit 1
  [[ $stderr != *"single picture"* ]]
  gives 0 dq-run "$models/small.onnx" --data "npy:$x" --limit 1
  [[ $stderr != *"single picture"* ]]
}
