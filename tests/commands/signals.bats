# Signals at random moments of each command: every output is the old one or the new one, and after SIGINT and
# SIGTERM nothing else is there.
load common
load pictures

# Whether run/FILE is complete; where times make each run another, it is told by its form.
complete() {
  case $1 in
  bench.json) [[ $(tail -n 1 "run/$1") == "}" ]] ;;
  bench.csv) [ "$(wc -l <"run/$1")" -eq "$(wc -l <"whole/$1")" ] ;;
  bench.html) [[ $(tail -n 1 "run/$1") == *"</html>"* ]] ;;
  *) cmp -s "run/$1" "whole/$1" ;;
  esac
}

# look SIGNAL STATUS: what is left after one run
look() {
  local file
  for file in "${files[@]}"; do
    [ "$(cat "run/$file")" = old ] || complete "$file" || { echo "$1: $file is neither old nor new" && return 1; }
  done
  case $1-$2 in # a signal that came late moves the next ones forward, one in time moves them back
  *-0) time=$((time - time / 8)) ;;
  KILL-137) time=$((time + time / 8 + 1)) ;;
  INT-130 | TERM-130 | TERM-143) cut=$((cut + 1)) time=$((time + time / 8 + 1)) ;;
  *) echo "$1: exit status $2" && return 1 ;;
  esac
  [ "$1" = KILL ] || [ "$(ls -A run)" = "$(ls -A whole)" ] || { echo "$1 left $(ls -A run)" && return 1; }
}

# pause MICROSECONDS: without a program whose start would outlast a quick command
pause() { read -r -t "$(printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)))" -u 8 || true; } # the time is over: what it waits for

# signalled COMMAND...: 20 moments of a command that writes into the folder run, with three signals
signalled() {
  local moment name begin=${EPOCHREALTIME/[.,]/} time pid status cut=0 files
  mkfifo silence
  exec 8<>silence # nobody writes into it
  mkdir run
  "$@" >/dev/null 2>&1
  time=$((${EPOCHREALTIME/[.,]/} - begin))
  mv run whole
  mapfile -t files < <(ls -A whole)
  for moment in $(seq 1 20); do
    for name in INT TERM KILL; do
      mkdir run
      printf 'old\n' | (cd run && tee "${files[@]}" >/dev/null)
      "$@" >/dev/null 2>&1 3>&- 8>&- &
      pid=$!
      pause $(((RANDOM * 32768 + RANDOM) % (time + 1)))
      kill -s "$name" "$pid" 2>/dev/null || true # it may have ended
      status=0
      wait "$pid" 2>/dev/null || status=$?
      look "$name" "$status"
      rm -r run
    done
  done
  exec 8>&-
  [ "$cut" -gt 0 ] # some came in time
}

reports=(--json run/a.json --csv run/a.csv --html run/a.html)

@test "dq-amp" { signalled dq-amp "$models/small.onnx" -o run/out.onnx "${reports[@]}"; }
@test "dq-int8" {
  signalled dq-int8 "$models/small.onnx" --data "npy:$x" -o run/out.onnx --table run/table.json "${reports[@]}"
}
@test "dq-tucker" {
  signalled dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o run/out.onnx --save-ranks run/ranks.json "${reports[@]}"
}
@test "dq-report" { signalled dq-report "$models/small.onnx" --data "npy:$x" "${reports[@]}"; }
@test "dq-run" { signalled dq-run "$models/small.onnx" --data "npy:$x" --save-output run; }
@test "dq-run, answers" {
  pictures 6
  signalled dq-run "$models/small.onnx" --data list.txt --preset raw01 --json run/a.json --draw run
}
@test "dq-bench" {
  signalled dq-bench "$models/small.onnx" --runs 20 --json run/bench.json --csv run/bench.csv --html run/bench.html
}
@test "dq-train" {
  signalled dq-train "$models/small.onnx" --teacher "$models/small.onnx" --data "npy:$x" --val "npy:$x" --batch 2 --lr 1e-15 \
    --keep last -o run/out.onnx
}
@test "dq-cc" { # its outputs are open while the compiler runs
  export TMPDIR=$BATS_TEST_TMPDIR
  signalled dq-cc "$models/tiny.onnx" -o run/net.c --weights-file run/weights.bin --verify --compiler-flags -O0 "${reports[@]}"
}
@test "dq" { signalled dq int8 "$models/small.onnx" --data "npy:$x" -o run/out.onnx; }

@test "dq-cc --verify leaves no folder for the compiler" {
  local moment name begin=${EPOCHREALTIME/[.,]/} time pid status cut=0 verify file
  mkfifo silence
  exec 8<>silence
  mkdir temporary whole
  verify=(env TMPDIR="$PWD/temporary" dq-cc "$models/tiny.onnx" -o net.c --verify --compiler-flags -O0 -q)
  "${verify[@]}" >/dev/null
  time=$((${EPOCHREALTIME/[.,]/} - begin))
  mv net.c net.h whole
  for moment in $(seq 1 10); do
    for name in INT TERM; do
      "${verify[@]}" >/dev/null 2>&1 3>&- 8>&- &
      pid=$!
      pause $((moment * time / 11))
      kill -s "$name" "$pid" 2>/dev/null || true # it may have ended
      status=0
      wait "$pid" || status=$?
      left=$(find temporary -name 'dq-cc-*')
      [ -z "$left" ]
      for file in net.c net.h; do # a signal that comes behind the last output leaves them whole
        [ ! -e "$file" ] || cmp "$file" "whole/$file"
      done
      rm -f net.c net.h
      only silence temporary whole
      [ "$status" -ne 0 ] || continue
      [ "$status" -eq 130 ] || [ "$name-$status" = TERM-143 ] || { echo "$name: exit status $status" && return 1; }
      cut=$((cut + 1))
    done
  done
  exec 8>&-
  [ "$cut" -gt 0 ]
}

# waiting NAME COMMAND...: starts a command that waits for a model on standard input, to be sent that signal
waiting() {
  local name=$1
  shift
  "$@" <pipe >/dev/null 2>&1 3>&- 9>&- &
  pids+=($!) names+=("$name") what+=("$*")
}

# listens PID: returns when the command has its signal handlers
listens() {
  local caught
  for _ in $(seq 1 1000); do
    caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status")
    [[ $(<"/proc/$1/comm") == dq* ]] && ((16#$caught & 2)) && return
    sleep 0.02
  done
  return 1
}

@test "exit status 130 within two seconds, by either name" {
  ! built_with tsan || skip "ThreadSanitizer hands a signal on only when a read has ended"
  local verb options pids=() names=() what=() begin status i
  mkfifo pipe
  exec 9<>pipe # neither end is ever closed
  for verb in amp int8 tucker report run bench cc; do
    case $verb in
    int8) options=(--data "npy:$x" -o out.onnx) ;;
    tucker) options=(--ratio 0.5 --untimed -o out.onnx) ;;
    amp) options=(-o out.onnx) ;;
    cc) options=(-o out.c) ;;
    *) options=() ;;
    esac
    waiting INT dq-$verb - "${options[@]}"
    waiting INT dq $verb - "${options[@]}"
    waiting TERM dq-$verb - "${options[@]}"
    waiting TERM dq $verb - "${options[@]}"
  done
  for i in "${pids[@]}"; do listens "$i"; done
  begin=${EPOCHREALTIME/[.,]/}
  for i in "${!pids[@]}"; do kill -s "${names[i]}" "${pids[i]}"; done
  for i in "${!pids[@]}"; do
    status=0
    wait "${pids[i]}" || status=$?
    [ $status -eq 130 ] || { echo "${what[i]}: ${names[i]}: exit status $status" && return 1; }
  done
  [ $((${EPOCHREALTIME/[.,]/} - begin)) -lt 2000000 ]
  exec 9>&-
  only pipe
}
