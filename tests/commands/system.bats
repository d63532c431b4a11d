# What the system refuses: memory, places to write, a reader of standard output; and several commands at once.
load common

# The command line of each verb on MODEL that writes nothing but standard output, in `line`.
plain_line() {
  case $1 in
  run) line=(dq-run "$2" --data "npy:$x") ;;
  report) line=(dq-report "$2") ;;
  bench) line=(dq-bench "$2" --runs 1 -q) ;;
  cc) line=(dq-cc "$2" -o out.c) ;;
  *) command_line "$1" "$2" out.onnx ;;
  esac
}

@test "a closed standard output ends every command quietly" {
  local verb line status
  for verb in amp int8 tucker run report bench cc; do
    plain_line $verb "$models/small.onnx"
    [ $verb != tucker ] || line+=(-q) # no warning of the verdict
    for reader in "head -n 1" true; do
      run bash -c '"${@:2}" 2>errors | $1 >/dev/null; exit ${PIPESTATUS[0]}' - "$reader" "${line[@]}"
      [ "$status" -eq 0 ] || [ "$status" -eq 141 ]
      [ ! -s errors ]
    done
    gives 5 bash -c '"$@" >/dev/full' - "${line[@]}"
    says "dq-$verb: standard output: No space left on device"
  done
}

@test "work that needs more memory than it may have" {
  local verb line model="$models/unknown_size.onnx" size=(--shape x=1,3,2000,2000)
  for verb in int8 run bench; do
    plain_line $verb "$model"
    gives 5 "${line[@]}" "${size[@]}" --memory 50M
    [[ $stderr =~ ^"dq-$verb: $model: running the network needs "2[0-9]{2}" MiB of memory, --memory allows 50 MiB"$ ]]
    ! sanitized || continue
    gives 5 bash -c 'ulimit -v 150000 && "$@"' - "${line[@]}" "${size[@]}"
    [[ $stderr =~ ^"dq-$verb: $model: out of memory: "2[0-9]{8}" bytes needed"$ ]]
  done
  gives 5 dq-cc "$model" "${size[@]}" -o out.c --verify --memory 50M
  [[ $stderr =~ ^"dq-cc: $model: running the network needs "2[0-9]{2}" MiB of memory, --memory allows 50 MiB"$ ]]
  only
  # What comes from the schedule needs no such memory.
  gives 0 dq-cc "$model" "${size[@]}" -o out.c --memory 50M
  gives 0 dq-report "$model" "${size[@]}" --memory 50M
  [[ $output =~ "Planned memory:"\ +167\.8\ MiB ]]
  [ -z "$stderr" ]
  for verb in amp int8 tucker run report bench cc; do
    plain_line $verb "$models/small.onnx"
    rm -f out.*
    gives 5 "${line[@]}" --memory 1k
    has "--memory allows 0 MiB"
    only
    gives 0 "${line[@]}" --memory 50M
  done
}

# OpenBLAS waits for ever for a buffer that the system refuses: the command must not.
@test "a decomposition without memory for its buffers" {
  ! sanitized || skip "sanitizers need all addresses"
  plain_line tucker "$models/wide.onnx"
  run --separate-stderr bash -c 'ulimit -v 250000 && timeout 60 "$@"' - "${line[@]}"
  [ "$status" -eq 5 ] || [ "$status" -eq 0 ]
  [ "$status" -eq 0 ] || has "out of memory: 134217728 bytes needed" || has "cannot start"
}

# OpenBLAS raises SIGINT where its threads get no memory, before the program itself begins.
@test "signals while libraries initialize themselves" {
  local name memory
  ! sanitized || skip "sanitizers have handlers of their own, and need all addresses"
  for name in INT TERM; do
    echo "#include <signal.h>
__attribute__((constructor)) static void start(void) { raise(SIG$name); }" >$name.c
    ${CC:-cc} -shared -fPIC -o $name.so $name.c
  done
  gives 5 env LD_PRELOAD="$PWD/INT.so" dq-report "$models/small.onnx"
  says "dq: out of memory: a library cannot start its threads"
  gives 130 env LD_PRELOAD="$PWD/TERM.so" dq-report "$models/small.onnx"
  says ""
  for memory in {40..100}; do # MB; 127: the libraries are larger
    status=0
    (ulimit -v $((memory * 1000)) && exec dq-report "$models/small.onnx") >said 2>&1 || status=$?
    [[ $status =~ ^(0|5|127)$ ]] || { echo "$memory MB: status $status" && cat said && return 1; }
  done
  [ "$status" -eq 0 ]
}

@test "every output that cannot be written is named" {
  mkdir folder
  local option line
  while read -r option line; do
    for target in missing/out folder /dev/full; do
      gives 5 dq-${line%% *} "$models/small.onnx" ${line#* } "$option" "$target"
      case $target in
      folder) says "dq-${line%% *}: folder: is a folder, expected a file name" ;;
      /dev/full) says "dq-${line%% *}: /dev/full: No space left on device" ;;
      *) says "dq-${line%% *}: $target: No such file or directory" ;;
      esac
    done
  done <<ROWS
--json amp -o out.onnx
--table int8 --data npy:$x -o out.onnx
--csv int8 --data npy:$x -o out.onnx
--save-ranks tucker --ratio 0.5 --untimed -q -o out.onnx
--html tucker --ratio 0.5 --untimed -q -o out.onnx
--json report --threads 1
--csv report --threads 1
--html report --threads 1
--json bench --runs 1 -q
--csv bench --runs 1 -q
--html bench --runs 1 -q
--json cc -o out.c
--csv cc -o out.c
--html cc -o out.c
ROWS
  for target in out.onnx/new out.onnx /dev/full; do
    gives 5 dq-run "$models/small.onnx" --input "$x" --save-output "$target"
    has "$target"
  done
  only folder out.c out.h out.onnx
  for line in amp "int8 --data npy:$x" "tucker --ratio 0.5 --untimed"; do
    gives 2 dq-${line%% *} "$models/small.onnx" $(cut -s -d' ' -f2- <<<"$line")
    says "dq-${line%% *}: option '--output FILE' is needed: the model to write, '-' for standard output
hint: see 'dq-${line%% *} --help'"
  done
}

@test "two commands that write the same file leave one of the two results" {
  local round a b found
  dq-tucker "$models/small.onnx" --ratio 0.25 --untimed -o a.onnx -q >/dev/null
  dq-amp "$models/small.onnx" -o b.onnx -q >/dev/null
  for round in $(seq 1 20); do
    dq-tucker "$models/small.onnx" --ratio 0.25 --untimed -o same.onnx -q >/dev/null 3>&- & a=$!
    dq-amp "$models/small.onnx" -o same.onnx -q >/dev/null 3>&- & b=$!
    wait $a
    wait $b
    cmp -s same.onnx a.onnx || cmp -s same.onnx b.onnx
  done
  for round in $(seq 1 10); do
    dq-report "$models/small.onnx" --html same.html 3>&- >/dev/null & a=$!
    dq-report "$models/tiny.onnx" --html same.html 3>&- >/dev/null & b=$!
    wait $a
    wait $b
    found=$(md5sum <same.html)
    dq-report "$models/small.onnx" --html a.html >/dev/null
    dq-report "$models/tiny.onnx" --html b.html >/dev/null
    [ "$found" = "$(md5sum <a.html)" ] || [ "$found" = "$(md5sum <b.html)" ]
  done
  only a.html a.onnx b.html b.onnx same.html same.onnx
}

# small.onnx has more than 2 kB, as have reports.
@test "files may not become as large as needed" {
  local verb
  for verb in amp int8 tucker; do
    command_line $verb "$models/small.onnx" out.onnx
    gives 5 bash -c 'ulimit -f 2 && "$@"' - "${line[@]}"
    has "dq-$verb: out.onnx: File too large"
  done
  gives 5 bash -c 'ulimit -f 2 && "$@"' - dq-cc "$models/small.onnx" -o out.c
  says "dq-cc: out.c: File too large"
  gives 5 bash -c 'ulimit -f 2 && "$@"' - dq-report "$models/small.onnx" --html page.html
  has "dq-report: page.html: File too large"
  only
}

@test "an output that is a symbolic link" {
  mkdir there
  ln -s there/out.onnx link.onnx
  for _ in 1 2; do
    gives 0 dq-amp "$models/small.onnx" -o link.onnx
    [ -L link.onnx ]
    [ -f there/out.onnx ]
    [ "$(ls -A there)" = out.onnx ]
  done
  gives 0 dq-report link.onnx
  ln -s missing/out.onnx nowhere.onnx
  gives 5 dq-amp "$models/small.onnx" -o nowhere.onnx
  says "dq-amp: nowhere.onnx: No such file or directory"
  only there link.onnx nowhere.onnx
}

@test "what a killed process left is removed by who writes the same file next" {
  touch out.onnx.dq-part0 out.onnx.dq-part3 out.onnx.dq-part out.onnx.dq-partial other.onnx.dq-part0
  gives 0 dq-amp "$models/small.onnx" -o out.onnx
  only out.onnx out.onnx.dq-part out.onnx.dq-partial other.onnx.dq-part0
}

@test "results that cannot be written are told beside a condition that does not hold, not beside an error" {
  dq-int8 "$models/small.onnx" --data "npy:$x" -o int8.onnx --accumulator int32 -q >/dev/null
  gives 1 dq-report int8.onnx --overflow --max-overflow 0 --data "npy:$x" -q
  gives 5 bash -c 'dq-report int8.onnx --overflow --max-overflow 0 --data "npy:$x" -q >/dev/full'
  says "dq-report: standard output: No space left on device"
  printf 'P6\n8 8\n255\n%0192d' 1 >good.ppm
  printf 'P6\n8 8\n255\n' >broken.ppm
  printf 'good.ppm 1\nbroken.ppm 1\n' >list.txt
  gives 3 dq-run "$models/small.onnx" --data list.txt --preset raw01 --strict
  gives 3 bash -c 'dq-run "$models/small.onnx" --data list.txt --preset raw01 --strict >/dev/full'
  has "broken.ppm"
}
