# dq-tune, and the wisdom that other commands use. Nothing here depends on times: where the machine is too noisy to
# measure, which dq-tune says with exit status 1, records are made by hand.
load common

# tunes ARGUMENT...: status 0, or 1 where the machine is too noisy
tunes() {
  run --separate-stderr dq-tune "$@"
  if [ "$status" -eq 0 ]; then return; fi
  if [ "$status" -eq 1 ] && [[ $stderr == *"the machine is too noisy"* ]]; then return; fi
  printf 'dq-tune %s: status %s\n%s\n%s\n' "$*" "$status" "$output" "$stderr"
  return 1
}

# records CHOICE [EDIT] [BATCH]: a record for every shape of small.onnx with a choice, for one thread; EDIT is a sed command
records() {
  local place runs
  tunes "$models/small.onnx" --batch "${3:-1}" --threads 1 --conv direct --wisdom probe --time-limit 0.001s --json probe.json -v
  place=$(sed -nE 's/.*records are of (build=.*)$/\1/p' <<<"$stderr")
  runs=$(sed -nE 's/.*"run": "([^"]*)".*/\1/p' probe.json | grep -v '^Network')
  [ -n "$place" ]
  [ -n "$runs" ]
  while read -r run; do
    echo "dq-wisdom-1 $place run=$run choice=$1 use=yes ratio=0.8,0.85,0.9 before_us=9,10,11 after_us=8,8.5,9 runs=32 end"
  done <<<"$runs" | sed "${2:-}"
  rm -f probe probe.json
}

algorithms() { # algorithms ARGUMENT...: of the steps of small.onnx, one a line
  dq-bench "$models/small.onnx" --conv direct --threads 1 --runs 1 --per-layer --json - -q "$@" |
    sed -nE 's/.*"algorithm": "([^"]*)".*/\1/p'
}

count() { # count FIELD FILE: of the record of the network in JSON
  sed -nE "s/^    \"$1\": ([0-9]+),?$/\1/p" "$2"
}

@test "tune: a new file of choices has the rights that the user gives new files" {
  local mask
  for mask in 022 077 002; do
    (umask $mask && timed dq-tune "$models/small.onnx" --conv direct --time-limit 30s --wisdom "w$mask" >/dev/null)
    [ "$(stat -c %a "w$mask")" = "$(printf %o $((0666 & ~mask)))" ]
  done
}

@test "tune: what is known is not measured again" {
  records usual >w
  cp w before
  gives 0 dq-tune "$models/small.onnx" --threads 1 --conv direct --wisdom w --json out.json
  grep -q '"runs": 0' out.json
  grep -q '"measured": 0' out.json
  has "no choice is faster than the usual one"
  cmp w before
}

@test "tune: choices are used, at the same bits" {
  records algorithm=tiles >w
  [ "$(algorithms --no-wisdom)" != "$(algorithms --wisdom w)" ]
  [ "$(algorithms --wisdom w | sort -u)" = tiles ]
  records algorithm=tiles "" 6 >>w # the array has 6 pictures
  mkdir -p "$XDG_CACHE_HOME/dq" usual tuned
  dq-run "$models/small.onnx" --input "x=$x" --save-output usual --threads 1 --no-wisdom >/dev/null
  cp w "$XDG_CACHE_HOME/dq/wisdom"
  [ "$(algorithms | sort -u)" = tiles ] # the file of the user
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --save-output tuned --threads 1 -v
  has "steps have another choice than the usual one"
  rm -r "$XDG_CACHE_HOME/dq"
  cmp usual/y.npy tuned/y.npy
}

@test "tune: records of another machine or build are ignored with one line" {
  for edit in 's/machine=/machine=x/' 's/build=/build=x/'; do
    records algorithm=tiles "$edit" >w
    gives 0 dq-run "$models/small.onnx" --input "x=$x" --threads 1 --wisdom w
    has "dq-run: w: $(wc -l <w) records are of another processor, or of another version or build of dq than this one ($(
      dq-run --version | cut -d ' ' -f 2), build $(cut -d ' ' -f 2 w | sed "s/build=x*//;1q")), and are ignored"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [ "$(algorithms --no-wisdom)" = "$(algorithms --wisdom w)" ]
  done
  records algorithm=tiles 's/^dq-wisdom-1/dq-wisdom-2/' >w
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --threads 1 --wisdom w
  says "dq-run: warning: w: $(wc -l <w) records have another format than that of dq $(
    dq-run --version | cut -d ' ' -f 2), version 1, and are ignored"
  records algorithm=tiles 's/threads=1/threads=7/' >w
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --threads 1 --wisdom w
  says ""
}

@test "tune: a choice whose network was not faster is not used" {
  records algorithm=tiles >w
  sed 's/use=yes/use=no/' w >>w.new
  cat w.new w >both
  [ "$(algorithms --no-wisdom)" = "$(algorithms --wisdom both)" ]
}

@test "tune: broken and truncated lines are ignored with file and line" {
  records algorithm=tiles >w
  head -c 50 w >first
  echo >>first
  cat w >>first
  cat w >last
  head -c -3 w >>last
  cat w - >noise <<<$'\x01\xff dq-wisdom-1\n\ndq-wisdom-1 end'
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --threads 1 --wisdom first
  has "first: line 1 is no record of wisdom; such lines: 1"
  [ "$(algorithms --wisdom first | sort -u)" = tiles ]
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --threads 1 --wisdom last
  has "last: line $(($(wc -l <last) + 1)) is no record of wisdom; such lines: 1"
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --threads 1 --wisdom noise
  has "is no record of wisdom"
}

@test "tune: a file of wisdom that is missing, a folder, or cannot be read" {
  gives 5 dq-run "$models/small.onnx" --input "x=$x" --wisdom nowhere
  has "nowhere: No such file or directory"
  gives 5 dq-run "$models/small.onnx" --input "x=$x" --wisdom .
  has ".: is a folder"
  gives 5 dq-tune "$models/small.onnx" --wisdom .
  mkdir -p "$XDG_CACHE_HOME/dq/wisdom" # that of the user
  gives 0 dq-run "$models/small.onnx" --input "x=$x"
  has "every step is computed as usual"
  rm -r "$XDG_CACHE_HOME/dq"
}

@test "tune: where nothing can be written it works, and says that nothing is kept" {
  touch cache
  export XDG_CACHE_HOME="$PWD/cache"
  tunes "$models/small.onnx" --threads 1 --time-limit 0.2s
  local tuned=$status
  env -u HOME -u XDG_CACHE_HOME dq-run "$models/small.onnx" --input "x=$x" >/dev/null
  if [ "$tuned" -ne 0 ]; then skip "the machine is too noisy"; fi
  has "$PWD/cache/dq/wisdom cannot be written: nothing is kept"
}

@test "tune: two writers leave whole lines" {
  for m in small high_bias; do dq-tune "$models/$m.onnx" --threads 1 --time-limit 0.5s --wisdom w >/dev/null 2>"$m.err" & done
  wait
  touch w
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --wisdom w
  says ""
  if [ -s w ]; then run -1 grep -v ' end$' w; fi
}

@test "tune: killed at 20 moments it leaves a valid file, the next call goes on, and the last measures nothing" {
  local before=0 killed=0 lines
  touch w
  for moment in {1..20}; do
    run timeout -s KILL "$(printf '0.%03d' $((20 * moment - 19)))" dq-tune "$models/small.onnx" --threads 1 --exhaustive --resume --wisdom w
    [[ $status == @(0|1|137) ]] # it may be done, or the machine too noisy
    if [ "$status" -eq 137 ]; then killed=$((killed + 1)); fi # counted, and looked at below
    run -1 grep -v ' end$' w
    lines=$(wc -l <w)
    [ "$lines" -ge "$before" ]
    before=$lines
  done
  [ "$killed" -ge 1 ] # in 0.001 s no call is done
  gives 0 dq-run "$models/small.onnx" --input "x=$x" --wisdom w
  says ""
  before=$(grep -c use=tried w || true)
  tunes "$models/small.onnx" --threads 1 --exhaustive --resume --wisdom w --json rest.json
  if [ "$status" -eq 1 ]; then skip "the machine is too noisy"; fi
  if [ "$(count runs rest.json)" -gt 0 ]; then [ "$(count candidates_known rest.json)" -eq "$before" ]; fi
  cp w before
  gives 0 dq-tune "$models/small.onnx" --threads 1 --exhaustive --resume --wisdom w --json again.json
  [ "$(count runs again.json)" -eq 0 ]
  cmp w before
  [[ $stderr != *"the search begins"* ]]
  tunes "$models/small.onnx" --threads 1 --resume --wisdom other --time-limit 1ms
  has "other: there is no such file yet: nothing to go on with, the search begins"
}

@test "tune: beside a process that keeps a processor busy it tunes, or writes nothing" {
  (while :; do :; done) &
  local busy=$!
  run --separate-stderr dq-tune "$models/small.onnx" --threads 2 --time-limit 1s --wisdom w
  kill "$busy"
  [[ $status == @(0|1) ]]
  if [ "$status" -eq 0 ]; then # else it says why
    run -1 grep -v ' end$' w
  else
    has "the machine is too noisy"
    has "nothing was written"
    [ ! -e w ]
  fi
}

# processors: those that this process may run on, one a line
processors() {
  local part
  for part in $(sed -nE 's/^Cpus_allowed_list:\s*//p' /proc/self/status | tr , ' '); do seq "${part%-*}" "${part#*-}"; done # the caller counts
}

@test "tune: two threads on two processors, one of which another program keeps busy: too noisy" {
  local places busy
  mapfile -t places < <(processors)
  [ ${#places[@]} -ge 2 ] || skip "this process may run on one processor only"
  [ -r /proc/thread-self/schedstat ] || skip "the system does not tell how long threads wait for a processor"
  taskset -c "${places[1]}" bash -c 'while :; do :; done' &
  busy=$!
  # runs that are longer than what the system gives the other program at a time
  run --separate-stderr taskset -c "${places[0]},${places[1]}" dq-tune "$models/small.onnx" --batch 8000 --threads 2 --wisdom w
  kill "$busy"
  [ "$status" -eq 1 ]
  [[ $stderr =~ "the machine is too noisy: in "[0-9]+" of "[0-9]+" rounds the threads waited for a processor for more than 2 % of the time; nothing was written" ]]
  has "hint: stop other programs, or tune with --threads 1"
  [ ! -e w ]
}

@test "tune: sizes of inputs and float16 sums are part of what is known" {
  tunes "$models/small.onnx" --time-limit 0.001s --wisdom w --json one.json
  tunes "$models/small.onnx" --time-limit 0.001s --wisdom w --json two.json --batch 2
  grep -q 'float32\[1,3' one.json
  grep -q 'float32\[2,3' two.json
  dq-amp "$models/small.onnx" -o half.onnx -q >/dev/null
  tunes half.onnx --time-limit 0.001s --wisdom w --json half.json --accumulate fp16 --cpu-mask c
  grep -q '/half/' half.json
  has "float16 sums are emulated"
}

@test "tune: a part of the candidates, and with --exhaustive all, also of shapes that are known" {
  tunes "$models/small.onnx" --threads 1 --wisdom w --json part.json --time-limit 0.1s
  if [ "$status" -eq 1 ]; then skip "the machine is too noisy"; fi
  [ "$(count candidates_measured part.json)" -le "$(count candidates part.json)" ]
  tunes "$models/small.onnx" --threads 1 --wisdom w --exhaustive --json all.json
  if [ "$status" -eq 1 ]; then skip "the machine is too noisy"; fi
  # shapes whose candidates were all measured are known
  [ "$(count candidates_known all.json)" -le "$(count candidates_measured part.json)" ]
  [ $(($(count candidates_known all.json) + $(count candidates_measured all.json))) -eq "$(count candidates all.json)" ]
  [ "$(grep -c use=tried w)" -eq "$(count candidates part.json)" ]
  [ "$(count candidates_measured all.json)" -eq $(($(count candidates part.json) - $(count candidates_measured part.json))) ]
  cp w before
  gives 0 dq-tune "$models/small.onnx" --threads 1 --wisdom w --exhaustive --json again.json
  [ "$(count runs again.json)" -eq 0 ]
  cmp w before
  rm w
  tunes "$models/small.onnx" --threads 1 --wisdom w --exhaustive --json loss.json
  if [ "$status" -eq 1 ]; then skip "the machine is too noisy"; fi
  grep -q '"part_loss"' loss.json
  grep -q '"correlation"' loss.json # of the family with five candidates
}

@test "tune: wrong command lines and models" {
  gives 2 dq-tune "$models/small.onnx" --time-limit 0
  has "option '--time-limit'"
  gives 2 dq-tune "$models/small.onnx" --exhaustive=2
  gives 5 dq-tune nowhere.onnx
  gives 4 dq-tune "$models/unknown_operator.onnx" --wisdom w
  only ""
}

@test "tune: a time limit that is too short for the runs of a large network" {
  run --separate-stderr dq-tune "$models/small.onnx" --batch 30000 --threads 1 --wisdom w --time-limit 1ms
  [ "$status" -eq 1 ]
  [[ $stderr =~ "small.onnx: 96 runs of the network, which tell how far times can be trusted, take "[0-9.]+" s, more than the time limit" ]]
  [[ $stderr =~ "hint: --time-limit "[0-9]+s ]]
  [ ! -e w ]
}
