# Several processes of one MPI job: the same bytes as one, and what does not fit. Skipped where there is no MPI.
load common
load processes

few=(--freeze '/stem/conv/Conv*' --data synth:shapes,split=train,count=96 --val synth:shapes,count=33 --batch 32 --lr 0.003
  --keep last)

setup() {
  own_folder
  needs_mpi
  shapes=$root/datasets/shapes.onnx
}

# job N COMMAND...: N processes
job() { "${mpirun[@]}" -n "$@"; }

# trains COMMAND...: the model is better, or as it was
trains() {
  run --separate-stderr "$@"
  [ "$status" -le 1 ] && return
  printf '%s: status %s\n%s\n%s\n' "$*" "$status" "$output" "$stderr"
  return 1
}
facts() { grep -v 'seconds\|per_second\|memory' "$1" >"$2"; }

@test "the same bytes for 1, 2 and 4 processes of 1, 2 and 3 threads" {
  trains dq-train "$shapes" "${few[@]}" --epochs 2 --augment flip,crop=4 -o one.onnx --threads 1 --json one.json -q
  run -1 cmp -s one.onnx "$shapes"
  for processes in 2 4; do
    for threads in 1 2 3; do
      trains job $processes dq-train "$shapes" "${few[@]}" --epochs 2 --augment flip,crop=4 -o out.onnx \
        --threads $threads --json out.json -q
      cmp out.onnx one.onnx
    done
  done
  # The same figures, but for times and memory.
  facts one.json one.facts
  facts out.json out.facts
  cmp one.facts out.facts
  grep -q '"loss"' one.facts
  only one.onnx one.json one.facts out.onnx out.json out.facts
}

@test "3 processes, a last shard that is not whole, a teacher, 8 bits" {
  dq-int8 "$shapes" --data synth:shapes,split=calib,count=32 -o int8.onnx -q >/dev/null
  words=(int8.onnx --qat int8 --teacher "$shapes" --data synth:shapes,split=train,count=96 --val synth:shapes,count=33 --batch 30
    --lr 0.001 --keep last --epochs 1)
  trains dq-train "${words[@]}" -o one.onnx -q
  run -1 cmp -s one.onnx int8.onnx
  trains job 3 dq-train "${words[@]}" -o out.onnx --threads 1 -q
  cmp out.onnx one.onnx
}

@test "weights that stay float16" {
  dq-amp "$shapes" -o half.onnx -q >/dev/null
  trains dq-train half.onnx "${few[@]}" --epochs 1 -o one.onnx -q
  run -1 cmp -s one.onnx half.onnx
  trains job 2 dq-train half.onnx "${few[@]}" --epochs 1 -o out.onnx --threads 1 -q
  cmp out.onnx one.onnx
}

@test "depthwise convolutions, gates, slopes and reductions" {
  make_models --describe "$root/tests/snapshots/gates.model" gates.onnx
  dq-tucker gates.onnx --ratio 0.5 --untimed -o small.onnx -q >/dev/null
  words=(small.onnx --teacher gates.onnx --data synth:shapes,size=16,split=train,count=32 --val synth:shapes,size=16,count=16
    --batch 16 --epochs 2 --lr 0.003 --optimizer adam --feature-loss 3)
  gives 0 dq-train "${words[@]}" -o one.onnx --json one.json
  gives 0 job 3 dq-train "${words[@]}" -o out.onnx --threads 1 --json out.json
  cmp out.onnx one.onnx
  facts one.json one.facts
  facts out.json out.facts
  cmp one.facts out.facts
  grep -q '"figure": "SQNR"' one.facts # the labels are of other classes: pictures are compared with the teacher's answers
}

@test "the first process speaks, and a checkpoint serves any number of processes" {
  gives 0 job 2 dq-train "$shapes" "${few[@]}" --epochs 2 -o out.onnx --threads 1
  [ "$(grep -c 'epoch 2 of 2' <<<"$stderr")" -eq 1 ]
  [ "$(grep -c '^Figure:' <<<"$output")" -eq 1 ]
  trains job 2 dq-train "$shapes" "${few[@]}" --epochs 2 -o part.onnx --threads 1 --checkpoint state --time-limit 0.001s
  [[ $output == *"The time limit ended the training"* ]]
  trains job 4 dq-train "$shapes" "${few[@]}" --epochs 2 -o part.onnx --threads 1 --checkpoint state --resume
  [[ $stderr == *"continues after step 1 of epoch 1"* ]]
  cmp part.onnx out.onnx
}

@test "dq-report: the accuracy of 3 processes is that of one, said once" {
  words=("$shapes" --data synth:shapes,count=101)
  gives 0 dq-report "${words[@]}" --json one.json
  one=$output
  [[ $one == *"top-1"* ]]
  gives 0 job 3 dq-report "${words[@]}" --threads 1 --color never --json out.json
  [ "$output" = "$one" ]
  cmp out.json one.json
  gives 5 job 3 dq-report "${words[@]}" --threads 1 --json missing/out.json
  [ "$(grep -c '^dq-report: process 0 of 3: missing/out.json: No such file or directory$' <<<"$stderr")" -eq 1 ]
}

# divides WORDS...: dq-report of 2 and 3 processes prints and writes what one does
divides() {
  gives 0 dq-report "$@" --json one.json --threads 2
  one=$output
  for processes in 2 3; do
    gives 0 job $processes dq-report "$@" --threads 1 --color never --json out.json
    [ "$output" = "$one" ]
    cmp out.json one.json
  done
}

# milliseconds COMMAND...: the processor time of the command and of all processes that it starts
milliseconds() {
  local TIMEFORMAT=%U seconds
  seconds=$({ time "$@" >out 2>err; } 2>&1)
  echo $((10#${seconds/./}))
}

# halves WORDS...: two processes take together less than one and a half times the processor time of one, where they
# would take twice the time if each of them ran all pictures
halves() {
  alone=$(milliseconds job 1 dq-report "$@" --threads 1)
  both=$(milliseconds job 2 dq-report "$@" --threads 1)
  [ "$alone" -gt 300 ] # else it is the start that is measured
  [ $((2 * both)) -lt $((3 * alone)) ]
}

# bytes COUNT FIRST: as many bytes, of the digits of the numbers from FIRST on
bytes() {
  local digits
  digits=$(seq "$2" $(($2 + $1)) | tr -d '\n')
  printf %s "${digits:0:$1}" | tr 0-9 '\0\1\2\3\40\100\177\200\300\377'
}

# picture FILE KIND BYTES FIRST: 20x18 pixels of bytes; KIND is P5 or P6
picture() {
  printf '%s\n20 18\n255\n' "$2" >"$1"
  bytes "$3" "$4" >>"$1"
}

# mask FILE BYTE: one of the byte everywhere
mask() {
  printf 'P5\n20 18\n255\n' >"$1"
  head -c 360 /dev/zero | tr '\0' "$2" >>"$1"
}

# labelled FOLDER LABELS: seven pictures in FOLDER/images, and an empty folder for their labels
labelled() {
  mkdir -p "$1/images" "$1/$2"
  for i in 1 2 3 4 5 6 7; do picture "$1/images/$i.ppm" P6 1080 ${i}000; done
}

@test "dq-report: figures on masks of several processes are those of one, and each runs a part of the pictures" {
  labelled s masks
  for i in 1 2 3 4 5 6 7; do picture s/masks/$i.pgm P5 360 ${i}500; done
  mask s/masks/4.pgm '\0' # nothing is there
  make_models --describe "$root/tests/snapshots/maps.model" maps.onnx
  divides maps.onnx --data s --preset imagenet-stretch
  [[ $one == *"Dice per picture with a mask"* ]]
  printf 'input x -1 3 16 16\ny = Conv x w(4,3,3,3) pads=1,1,1,1\noutput y -1 4 16 16\n' >classes.model
  make_models --describe classes.model classes.onnx
  for i in 1 2 3 4 5 6 7; do
    mask s/masks/$i.pgm '\0'
    bytes 360 ${i}500 | tr '\40-\376' '\1' | dd of=s/masks/$i.pgm bs=1 seek=13 conv=notrunc status=none
  done
  divides classes.onnx --data s --preset imagenet-stretch
  [[ $one == *"mIoU"* ]]
  mask s/masks/7.pgm '\4'
  gives 3 job 2 dq-report classes.onnx --data s --preset imagenet-stretch --threads 1
  [ "$(grep -c '^dq-report: classes.onnx: process 1 of 2: 7.ppm: .*the mask has class 4, the model has 4 classes' <<<"$stderr")" -eq 1 ]
}

@test "dq-report: figures on boxes of several processes are those of one, and each runs a part of the pictures" {
  labelled b labels
  for i in 1 2 3 5 6 7; do # the fourth has none
    for x in 1 3 5 7; do for y in 1 3 5; do echo "$((x % i % 2)) 0.${x}5 0.${y}3 0.25 0.33"; done; done >b/labels/$i.txt
  done
  printf '%s\n' 'input x -1 3 32 32' 'a = Conv x w(7,3,8,8) strides=8,8' 'b = Conv x w(7,3,16,16) strides=16,16' \
    'c = Conv x w(7,3,32,32)' 'd = Reshape a i(-1,7,16)' 'e = Reshape b i(-1,7,4)' 'f = Reshape c i(-1,7,1)' \
    'g = Concat d e f axis=2' 'h,j = Split g i(4,3) axis=1' 'k = Sigmoid j' 'm = Concat h k axis=1' \
    'y = Transpose m perm=0,2,1' 'output y -1 21 7' >yolox.model
  make_models --describe yolox.model yolox.onnx
  words=(yolox.onnx --data b --preset yolox --preprocess scale=1/255 --decode yolox)
  divides "${words[@]}"
  [[ $one == *"mAP50          map50         4."* ]]
  echo "2 0.5 0.5 0.1 0.1" >b/labels/7.txt
  gives 3 job 2 dq-report "${words[@]}" --threads 1
  [ "$(grep -c '^dq-report: yolox.onnx: process 1 of 2: 7.ppm: .*class 2, the model has 2 classes' <<<"$stderr")" -eq 1 ]
}

@test "dq-report --overflow: the audit of several processes is that of one, and each runs a part of the pictures" {
  dq-int8 "$shapes" --data synth:shapes,split=calib,count=32 -o int8.onnx -q >/dev/null
  divides int8.onnx --overflow --data synth:shapes,count=101
  [[ $one == *"Clamped"* ]]
  divides int8.onnx --overflow --data synth:shapes,count=50 --batch 8
  divides int8.onnx --overflow --data synth:shapes,count=1
  halves int8.onnx --overflow --data synth:shapes,count=4000
}

@test "dq-report --ref: the comparison of several processes is that of one, and each runs a part of the pictures" {
  dq-int8 "$shapes" --data synth:shapes,split=calib,count=32 -o int8.onnx -q >/dev/null
  divides int8.onnx --ref "$shapes" --data synth:shapes,count=101
  [[ $one == *"SQNR"* ]]
  divides int8.onnx --ref "$shapes" --data synth:shapes,count=2
  halves int8.onnx --ref "$shapes" --data synth:shapes,count=4000
}

# One process of the job $pid is killed, and the others end with a message in err.
loses_a_process() {
  read -r -a children <"/proc/$pid/task/$pid/children" || true # no line ends there
  kill -KILL "${children[-1]}"
  status=0
  wait $pid || status=$?
  [ $status -ne 0 ]
  [[ $(tr '\n' ' ' <err) == *"on signal 9 (Killed)"* ]] # Open MPI 5 breaks the line
}

# quantizes N WORDS...: N processes write what one has written
quantizes() {
  local processes=$1
  shift
  gives 0 job $processes dq-int8 "$@" -o out.onnx --table out.table --json out.json --threads 1 --color never
  [ "$output" = "$one" ]
  for file in onnx table json; do cmp out.$file one.$file; done
}

@test "dq-int8: the files of 2 and 3 processes are those of one" {
  for words in "--data synth:shapes,split=calib,count=60" "--data synth:shapes,count=2" \
    "--data synth:shapes,count=9 --method ema --bias-correction on --bias-absorption on --equalize on --range-search on" \
    "--data synth:shapes,count=40 --batch 4 --rounding adaptive --eval synth:shapes,split=calib,count=31 --max-drop 0.1"; do
    gives 0 dq-int8 "$shapes" $words -o one.onnx --table one.table --json one.json --threads 2
    one=$output
    [[ $one == *"scores"* ]]
    quantizes 2 "$shapes" $words
    quantizes 3 "$shapes" $words
  done
  only one.onnx one.table one.json out.onnx out.table out.json
}

@test "dq-int8: what fails and conditions are said once" {
  words=(--data synth:shapes,count=20 --threads 1)
  gives 5 job 2 dq-int8 "$shapes" "${words[@]}" -o missing/out.onnx
  [ "$(grep -c '^dq-int8: process 0 of 2: missing/out.onnx: No such file or directory$' <<<"$stderr")" -eq 1 ]
  gives 2 job 2 dq-int8 "$shapes" "${words[@]}" -o out.onnx --retrain true
  [ "$(grep -c '^dq-int8: --retrain is the work of one process, and this is a job of 2;' <<<"$stderr")" -eq 1 ]
  gives 1 job 2 dq-int8 "$shapes" "${words[@]}" -o out.onnx --all-int8 --min-sqnr 90
  [ "$(grep -c '^dq-int8: .*--min-sqnr' <<<"$stderr")" -eq 1 ]
}

@test "dq-int8: a process that is killed ends the job, and nothing is written" {
  "${mpirun[@]}" -n 2 dq-int8 "$shapes" --data synth:shapes,count=20000 -o out.onnx --threads 1 -v >out 2>err 3>&- &
  pid=$!
  until grep -q "trial: " err || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done # the work has begun
  loses_a_process
  only err out
}

@test "a process that is killed ends the job, and the checkpoint is whole" {
  local epochs=40 # takes long enough to be killed
  ! sanitized || epochs=8
  trains dq-train "$shapes" "${few[@]}" --epochs $epochs -o whole.onnx -q
  "${mpirun[@]}" -n 2 dq-train "$shapes" "${few[@]}" --epochs $epochs -o out.onnx --threads 1 --checkpoint state \
    --checkpoint-every 1 >out 2>err 3>&- &
  pid=$!
  until [ -e state/checkpoint ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
  sleep 0.3
  loses_a_process
  [ ! -e out.onnx ]
  trains dq-train "$shapes" "${few[@]}" --epochs $epochs -o out.onnx --checkpoint state --resume -q
  cmp out.onnx whole.onnx
}

@test "what does not fit is said once" {
  gives 2 job 4 dq-train "$shapes" "${few[@]/#32/13}" -o out.onnx
  [[ $stderr == *"dq-train: a batch of 13 pictures is too small for 4 processes
hint: each process takes 4 pictures or a multiple of them, the last one 2 at least"* ]]
  [ "$(grep -c '^dq-train: ' <<<"$stderr")" -eq 1 ]
  gives 5 job 2 dq-train missing.onnx "${few[@]}" -o out.onnx
  [ "$(grep -c '^dq-train: missing.onnx: No such file or directory$' <<<"$stderr")" -eq 1 ]
  gives 5 job 2 dq-train "$shapes" "${few[@]}" -o missing/out.onnx
  [ "$(grep -c '^dq-train: process 0 of 2: missing/out.onnx: No such file or directory$' <<<"$stderr")" -eq 1 ]
  left=$(ls)
  [ -z "$left" ]
}
