# dq-train: learning, resuming, the same bytes, and what does not fit.
load common

data=(--data synth:shapes,split=train,count=256 --val synth:shapes,count=200)
usual=("${data[@]}" --batch 32 --epochs 2 --lr 0.003 --freeze '/stem/conv/Conv*')
few=(--freeze '/stem/conv/Conv*' --data synth:shapes,split=train,count=64 --val synth:shapes,count=16 --batch 16 --epochs 2 --lr 0.003)

# In worse.onnx the network of the source lost a third of its answers.
setup() {
  own_folder
  shapes=$root/datasets/shapes.onnx worse=$BATS_FILE_TMPDIR/worse.onnx
  [ -e "$worse" ] || dq-tucker "$shapes" --ratio 0.4 --untimed -o "$worse" -q >/dev/null
}

top1() { dq-report "$1" --data synth:shapes,count=200 --json - -q | sed -nE 's/.*"value": ([0-9.]+).*/\1/p' | head -n 1; }
field() { sed -nE "s/^ *\"$1\": ([-0-9.]+).*/\1/p" "$2" | tail -n 1; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }

@test "accuracy rises, and the figure is that of dq-report" {
  gives 0 dq-train "$worse" "${usual[@]}" -o out.onnx --augment flip --json facts.json --csv facts.csv --html page.html
  has "epoch 2 of 2: loss "
  has "memory "
  before=$(field before facts.json) after=$(field after facts.json)
  at_least 70 "$before"
  at_least "$after" 85
  [ "$(top1 "$worse")" = "$before" ]
  [ "$(top1 out.onnx)" = "$after" ]
  [ "$(wc -l <facts.csv)" -eq 3 ]
  [[ $(head -n 1 facts.csv) == *epoch,steps,rate,loss,right,figure,validation,kept,pictures_per_second,seconds* ]]
  grep -q "<svg" page.html
  only out.onnx facts.json facts.csv page.html
}

@test "Adam learns as well, with warm-up, decay and smooth labels" {
  dq-train "$worse" "${usual[@]}" -o out.onnx --optimizer adam --warmup 0.5 --weight-decay 0.01 --label-smoothing 0.1 \
    --schedule poly --json facts.json -q
  at_least "$(field after facts.json)" 85
}

@test "a teacher needs no labels" {
  dq-train "$worse" "${usual[@]}" -o out.onnx --teacher "$shapes" --temperature 2 --json facts.json -q
  at_least "$(field after facts.json)" 85
  mkdir pictures
  for i in 0 1 2 3; do printf 'P6\n32 32\n255\n%3072s' $i >pictures/$i.ppm; done
  gives 0 dq-train "$worse" --data pictures --val pictures -o out.onnx --batch 4 --epochs 4 --lr 0.001 --teacher "$shapes" \
    --freeze '/stem/conv/Conv*' --freeze-statistics --preprocess fit=stretch,scale=1
  has "SQNR"
  gives 0 dq-train "$models/small.onnx" --data synth:shapes,size=8,count=8 --val synth:shapes,size=8,count=8 -o out.onnx \
    --batch 4 --epochs 1 --lr 1e-15 --teacher "$models/small.onnx" --keep last # labels of other classes are none
  has "SQNR"
  gives 3 dq-train "$worse" --data pictures --val pictures -o o.onnx --batch 4 --preprocess fit=stretch,scale=1
  has "the pictures to train on have no class labels"
  gives 3 dq-train "$worse" --data synth:shapes --val pictures -o o.onnx --batch 4 --preprocess fit=stretch,scale=1
  has "the pictures to validate on have no class labels"
}

@test "inner values are trained towards those of the teacher" {
  agreement() { dq-report "$1" --ref "$shapes" --data synth:shapes,count=64 -q | sed -nE 's/^Agreement: *([0-9.]+) %/\1/p'; }
  gives 0 dq-train "$worse" "${few[@]}" -o plain.onnx --teacher "$shapes"
  gives 0 dq-train "$worse" "${few[@]}" -o out.onnx --teacher "$shapes" --feature-loss 50 --threads 1
  has "7 values are compared with those of the teacher"
  [[ "$output$stderr" != *"by name"* ]]
  at_least "$(agreement out.onnx)" "$(awk -v a="$(agreement plain.onnx)" 'BEGIN { print a + 3 }')"
  gives 0 dq-train "$worse" "${few[@]}" -o threads.onnx --teacher "$shapes" --feature-loss 50 --threads 3
  cmp out.onnx threads.onnx
  dq-int8 "$shapes" --data synth:shapes,count=8 --equalize off -o int8.onnx -q >/dev/null
  gives 0 dq-train int8.onnx "${data[@]}" --qat int8 --epochs 1 -o trained.onnx --teacher "$shapes" --feature-loss 1 --keep last
  has "7 values are compared with those of the teacher"
  gives 3 dq-train "$models/tiny.onnx" --data synth:shapes,size=8,count=8 --val synth:shapes,size=8,count=8 -o o.onnx \
    --batch 4 --teacher "$models/tiny.onnx" --feature-loss 1
  says "dq-train: the model has no inner value that stands for one of the teacher"
}

@test "the same bytes for 1, 2 and 3 threads" {
  for threads in 1 2 3; do
    dq-train "$worse" "${few[@]}" -o $threads.onnx --augment flip,crop=4,cutout=8,colour=0.2 --threads $threads --keep last -q
  done
  cmp 1.onnx 2.onnx
  cmp 1.onnx 3.onnx
  dq-train "$worse" "${few[@]}" -o seed.onnx --augment flip,crop=4,cutout=8,colour=0.2 --seed 1 --keep last -q
  run -1 cmp -s 1.onnx seed.onnx
}

# KILLS=20: so many kills, at random moments.
@test "weights of a float16 model stay float16: the same bytes for all threads, and resumed" {
  dq-amp "$worse" -o half.onnx -q >/dev/null
  for threads in 1 3; do dq-train half.onnx "${few[@]}" -o $threads.onnx --threads $threads --keep last -q; done
  cmp 1.onnx 3.onnx
  run -1 cmp -s half.onnx 1.onnx
  dq-report half.onnx --csv half.csv -q >/dev/null
  dq-report 1.onnx --csv out.csv -q >/dev/null
  cmp half.csv out.csv
  grep -q fp16 out.csv
  dq-train half.onnx "${few[@]}" -o part.onnx --keep last --checkpoint state --time-limit 0.001s -q
  dq-train half.onnx "${few[@]}" -o part.onnx --keep last --checkpoint state --resume -q
  cmp part.onnx 1.onnx
  dq-train half.onnx "${usual[@]}" -o out.onnx --json facts.json -q
  at_least "$(field after facts.json)" 75
}

@test "killed at any moment, a training goes on to the same bytes" {
  local kills=0 pid delay delays=(0.02 0.1 0.2 0.3 0.45 0.6) epochs=6
  if [ -n "${KILLS-}" ]; then
    delays=() epochs=$((10 * KILLS))
    while [ ${#delays[@]} -lt "$KILLS" ]; do delays+=("$(printf '0.%03d' $((RANDOM % 600)))"); done
  fi
  local long=("${few[@]/#2/$epochs}" --augment flip --keep last -q)
  dq-train "$worse" "${long[@]}" -o whole.onnx
  run -1 cmp -s whole.onnx "$worse"
  for delay in "${delays[@]}"; do
    dq-train "$worse" "${long[@]}" -o out.onnx --checkpoint state --checkpoint-every 1 --resume >/dev/null 3>&- &
    pid=$!
    sleep $delay
    if kill -KILL $pid 2>/dev/null; then kills=$((kills + 1)); fi
    wait $pid 2>/dev/null || true # it was killed
  done
  echo "$kills of ${#delays[@]} moments were within the training: ${delays[*]}"
  [ $kills -gt 0 ]
  [ $kills -ge $((${KILLS:-0} * 9 / 10)) ]
  dq-train "$worse" "${long[@]}" -o out.onnx --checkpoint state --resume
  cmp out.onnx whole.onnx
  gives 0 dq-train "$worse" "${long[@]}" -o again.onnx --checkpoint state --resume # nothing is left to do
  cmp again.onnx whole.onnx
}

@test "interrupted, it says how to go on" {
  dq-train "$worse" "${few[@]/#2/2000}" -o out.onnx --checkpoint other 2>err >out 3>&- &
  pid=$!
  until [ -e other/checkpoint ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
  sleep 0.2
  kill -INT $pid
  status=0
  wait $pid || status=$?
  [ $status -eq 130 ]
  grep -q "^dq-train: interrupted after step [0-9]* of epoch [0-9]*$" err
  grep -q "^hint: the same command with --resume continues from there$" err
  [ ! -e out.onnx ]
  [ "$(ls other)" = checkpoint ]
  # Without a checkpoint nothing is kept.
  dq-train "$worse" "${few[@]/#2/2000}" -o out.onnx 2>again >out 3>&- &
  pid=$!
  until grep -q "^dq-train: epoch 1 of" again 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
  kill -INT $pid
  status=0
  wait $pid || status=$?
  [ $status -eq 130 ]
  grep -q "^hint: with --checkpoint DIR a training can be resumed$" again
  [ ! -e out.onnx ]
}

@test "a time limit ends a training behind a step, and it goes on" {
  local words=("${few[@]}" --keep last)
  dq-train "$worse" "${words[@]}" -o whole.onnx -q
  gives 0 dq-train "$worse" "${words[@]}" -o out.onnx --time-limit 0.001s --checkpoint state
  has "The time limit ended the training"
  gives 0 dq-train "$worse" "${words[@]}" -o out.onnx --checkpoint state --resume
  has "continues after step 1 of epoch 1"
  cmp out.onnx whole.onnx
}

@test "another rate on resume is said" {
  dq-train "$worse" "${few[@]}" -o out.onnx --time-limit 0.001s --checkpoint state -q || true # it may be worse
  words=("${few[@]}")
  words[-1]=0.001
  gives 0 dq-train "$worse" "${words[@]}" --keep last -o out.onnx --checkpoint state --resume
  has "the learning rate is 0.001 from here on, 0.003 before"
}

@test "checkpoints that do not fit" {
  dq-train "$worse" "${few[@]}" -o out.onnx --keep last --checkpoint state -q
  gives 2 dq-train "$worse" "${few[@]}" -o o.onnx --checkpoint state
  says "dq-train: state/checkpoint is there already
hint: --resume continues from it; remove it or give another folder for a new training"
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --checkpoint state --resume --momentum 0.5
  says "dq-train: state/checkpoint: the checkpoint is of another training: momentum=0.90000000000000002 there, momentum=0.5 here"
  gives 3 dq-train "$shapes" "${few[@]}" -o o.onnx --checkpoint state --resume
  has "the checkpoint is of another training: model="
  gives 3 dq-train "$worse" --data synth:shapes,count=64 --val synth:shapes,count=16 --batch 16 --epochs 2 --lr 0.003 -o o.onnx \
    --checkpoint state --resume
  has "the checkpoint is of another training: data="
  cp state/checkpoint whole
  whole_size=$(stat -c %s whole)
  for size in 3 22 29 30 200 $((whole_size - 1)); do # the first line has 22 bytes, the hash 8
    head -c "$size" whole >state/checkpoint
    gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --checkpoint state --resume
    case $size in
    3) has "state/checkpoint: not a checkpoint of dq-train" ;;
    22 | 29) has "state/checkpoint: the checkpoint is truncated after $size bytes" ;;
    *) has "state/checkpoint: the checkpoint is truncated or broken" ;;
    esac
  done
  cp whole state/checkpoint
  printf x | dd of=state/checkpoint bs=1 seek=5000 conv=notrunc status=none
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --checkpoint state --resume
  has "truncated or broken"
  echo "something else" >state/checkpoint
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --checkpoint state --resume
  says "dq-train: state/checkpoint: not a checkpoint of dq-train"
  sed '1s/checkpoint 1/checkpoint 12/' whole >state/checkpoint
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --checkpoint state --resume
  has "dq-train: state/checkpoint: the checkpoint has version 12, expected 1"
  mkdir empty
  gives 0 dq-train "$worse" "${few[@]}" --keep last -o o.onnx --checkpoint empty --resume
  has "empty/checkpoint does not exist: the training starts anew"
  gives 5 dq-train "$worse" "${few[@]}" -o p.onnx --checkpoint missing/folder
  has "missing/folder: No such file or directory"
}

@test "a full disk leaves the last checkpoint whole" {
  dq-train "$worse" "${few[@]}" -o whole.onnx --keep last -q
  dq-train "$worse" "${few[@]}" -o out.onnx --keep last --time-limit 0.001s --checkpoint state -q
  cp state/checkpoint before
  rm out.onnx
  gives 5 bash -c 'ulimit -f 20 && "$@"' - dq-train "$worse" "${few[@]}" -o out.onnx --keep last --checkpoint state --resume
  has "state/checkpoint: File too large"
  cmp state/checkpoint before
  only before state whole.onnx
  dq-train "$worse" "${few[@]}" -o out.onnx --keep last --checkpoint state --resume -q
  cmp out.onnx whole.onnx
}

# The real peak is what -v ends with. That of sanitizers is another.
says_its_memory() { # says_its_memory MODEL OPTION...
  gives 0 dq-train "$@" --data synth:shapes,count=256 --val synth:shapes,count=128 --epochs 1 -o out.onnx --keep last -v
  said=$(sed -nE 's/.*are trained, memory ([0-9.]+) MiB/\1/p' <<<"$stderr")
  real=$(sed -nE 's/.* s, ([0-9.]+) MiB of memory.*/\1/p' <<<"$stderr")
  awk -v said="$said" -v real="$real" 'BEGIN { exit !(said > 0.95 * real && said < 1.05 * real) }' || {
    echo "$said MiB were said, $real MiB taken"
    return 1
  }
}

@test "memory is said before, within a twentieth of the peak" {
  if sanitized; then skip "sanitizers need memory of their own"; fi
  says_its_memory "$shapes" --batch 128 --lr 1e-7
  # More weights than values: the moments of the optimizer and the state of a checkpoint count.
  printf 'input x -1 3 32 32\na = Flatten x\nb = Gemm a w(1024,3072) b(1024) transB=1\nc = Relu b\ny = Gemm c w(8,1024) b(8) transB=1\noutput y -1 8\n' >wide.model
  make_models --describe wide.model wide.onnx
  says_its_memory wide.onnx --batch 64 --lr 1e-30
  says_its_memory wide.onnx --batch 64 --lr 1e-30 --optimizer adam
  says_its_memory wide.onnx --batch 64 --lr 1e-30 --optimizer adam --checkpoint state
}

@test "a training that diverges, and one that makes the model worse" {
  gives 1 dq-train "$worse" "${few[@]/0.003/1e6}" -o out.onnx --checkpoint state
  has "the training diverged at step "
  has " of node '/"
  has "kept is the model as it was"
  cmp_answers "$worse" out.onnx
  gives 1 dq-train "$shapes" "${few[@]:2}" -o out.onnx # the weights of the first convolution are too small for this rate
  has "the training made the model worse; kept is the model as it was"
  cmp_answers "$shapes" out.onnx
}

cmp_answers() {
  dq-run "$1" --data synth:shapes,count=8 >a.txt
  dq-run "$2" --data synth:shapes,count=8 >b.txt
  cmp a.txt b.txt
}

@test "what does not fit" {
  gives 3 dq-train "$worse" "${few[@]/count=64/count=15}" -o o.onnx
  says "dq-train: a batch has 16 pictures, and the data only 15"
  gives 3 dq-train "$models/small.onnx" --data synth:shapes,size=8 --val synth:shapes,size=8 -o o.onnx
  has "the data has 8 classes, the model 4"
  gives 2 dq-train "$worse" "${few[@]}" -o o.onnx --freeze nonsense
  says "dq-train: no node fits the pattern 'nonsense' of weights to freeze"
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --freeze '*'
  has "no weight of float32 or float16 that is trained"
  dq-int8 "$shapes" --data synth:shapes,count=8 -o int8.onnx -q >/dev/null
  gives 3 dq-train int8.onnx "${few[@]:2}" -o o.onnx
  says "dq-train: the model has no weight of float32 or float16 that is trained
hint: models of dq-int8 are trained with --qat int8"
  rm int8.onnx
  gives 3 dq-train "$worse" "${few[@]}" -o o.onnx --teacher "$models/small.onnx"
  has "teacher"
  for list in nonsense flip=1 crop crop=0 crop=1.5 crop=x cutout=-1 colour=2 colour=nan "flip," ",flip"; do
    gives 2 dq-train "$worse" "${few[@]}" -o o.onnx --augment "$list"
    has "augmentation "
  done
  gives 4 dq-train "$models/two_inputs.onnx" "${few[@]:2}" -o o.onnx
  has "training of models with several inputs is not supported"
  gives 5 dq-train "$worse" "${few[@]}" -o missing/o.onnx
  says "dq-train: missing/o.onnx: No such file or directory"
  only
}
