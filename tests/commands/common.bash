# What the tests of commands share: programs, models, data, and checks of what a command said.
# bats runs setup before each test, in a folder of its own.
bats_require_minimum_version 1.5.0
set -o pipefail # a failure left of a bar ends a test too
load ../sanitizers

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=$(cd "$root" && realpath "${DQ_BUILD:-build}")
  # All commands of the build, without dq-.
  verbs=$(sed -nE 's/^DQ_VERB\((\w+)\)$/\1/p' "$build/generated/verbs.def" | tr _ -)
  export root build verbs models="$build/models" PATH="$build:$PATH"
  sanitizer_options
  unset DQ_ASSETS
  export XDG_CACHE_HOME="$BATS_FILE_TMPDIR/cache" # no wisdom of the user
  x="$BATS_FILE_TMPDIR/x.npy" maps="$BATS_FILE_TMPDIR/maps.npy"
  export x maps
  make_models --array "$x" 6 3 8 8
  make_models --array "$maps" 4 8 8 8
}

# What every setup begins with: a folder of its own. bats runs a trap before each command of a function, which takes longer
# than most of the commands; without it a failure is told by the line of the test alone.
own_folder() {
  set +o functrace
  mkdir "$BATS_TEST_TMPDIR/here"
  cd "$BATS_TEST_TMPDIR/here"
}
setup() { own_folder; }

# installed PROGRAM...: whether all of them are there (command -v with several names is true when one of them is)
installed() {
  local program
  for program; do command -v "$program" >/dev/null || return 1; done
}

# gives STATUS COMMAND...: runs it (standard output in $output, standard error in $stderr)
gives() {
  local expected=$1
  shift
  run --separate-stderr "$@"
  [ "$status" -eq "$expected" ] && return
  printf '%s: status %s, expected %s\n%s\n%s\n' "$*" "$status" "$expected" "$output" "$stderr"
  return 1
}

# timed COMMAND...: with a clock that counts how often it is read, on one thread, so that what a command measures does
# not depend on the machine
timed() {
  local clock=$BATS_FILE_TMPDIR/clock.so
  [ -e "$clock" ] || ${CC:-cc} -O1 -shared -fPIC -o "$clock" "$root/tests/snapshots/counted_clock.c"
  LD_PRELOAD=$clock COUNTED_EVEN=1 ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 "$@" --threads 1
}

# says TEXT: standard error is exactly that
says() {
  [ "$stderr" = "$1" ] && return
  printf 'standard error:\n%s\nexpected:\n%s\n' "$stderr" "$1"
  return 1
}

# has TEXT: standard output or standard error contains it
has() {
  [[ $output$'\n'$stderr == *"$1"* ]] && return
  printf 'no "%s" in:\n%s\n%s\n' "$1" "$output" "$stderr"
  return 1
}

# only FILE...: the current folder holds just these
only() {
  local found wanted
  found=$(ls -A | LC_ALL=C sort) wanted=$(printf '%s\n' "$@" | sed '/^$/d' | LC_ALL=C sort)
  [ "$found" = "$wanted" ] && return
  printf 'files: %s, expected: %s\n' "$found" "$wanted"
  return 1
}

# outputs MODEL FOLDER ARRAY: what a model computes, into FOLDER
outputs() {
  mkdir -p "$2"
  dq-run "$1" --input "x=$3" --save-output "$2" "${@:4}" >/dev/null
}

# near A.npy B.npy SHARE: no difference above SHARE of the largest element of B. 1: there is one, or A is not finite;
# 2: the two cannot be compared (a missing file, another type or shape, a B of zeros or of what is not finite)
near() { make_models --compare "$1" "$2" "$3"; }

# shows NAME [COMMON OPTION...]: the commands of the transcript tests/snapshots/NAME.txt give what is shown there
shows() { "$root/tests/snapshots/run" "$build" "$@"; }

# The command line that converts MODEL to OUT with each of the programs that write models, in `line`.
command_line() {
  local verb=$1 model=$2 out=$3
  case $verb in
  amp) line=(dq-amp "$model" -o "$out" "${@:4}") ;;
  int8) line=(dq-int8 "$model" --data "npy:$x" -o "$out" "${@:4}") ;;
  tucker) line=(dq-tucker "$model" --ratio 0.5 --untimed -o "$out" "${@:4}") ;;
  esac
}

convert() {
  local line
  command_line "$@"
  "${line[@]}"
}

# The same bytes whatever the threads and the processor (environment.bats: whatever is around the command).
same_bytes() {
  local verb=$1 model=$models/small.onnx reference out=out.onnx
  convert "$verb" "$model" reference.onnx -q >/dev/null
  reference=$(md5sum <reference.onnx)
  check() { # check WHAT COMMAND...
    local what=$1
    shift
    "$@" >/dev/null || { echo "$what: failed" && return 1; }
    [ "$(md5sum <"$out")" = "$reference" ] || { echo "$what: other bytes" && return 1; }
    rm -f "$out"
  }
  for threads in 1 2 3; do check "threads $threads" convert "$verb" "$model" $out --threads $threads; done
  for mask in c avx2 avx512 native; do check "mask $mask" convert "$verb" "$model" $out --cpu-mask $mask; done
  check "again" convert "$verb" "$model" $out
}

# Outputs that cannot be written: 5, and nothing is left behind.
unwritable() {
  local verb=$1 model=$models/small.onnx
  gives 5 convert "$verb" "$model" missing/out.onnx
  says "dq-$verb: missing/out.onnx: No such file or directory"
  mkdir folder
  gives 5 convert "$verb" "$model" folder
  says "dq-$verb: folder: is a folder, expected a file name"
  gives 5 convert "$verb" "$model" /dev/full
  has "/dev/full: No space left on device"
  only folder
  echo old >out.onnx
  gives 3 convert "$verb" "$models/cycle.onnx" out.onnx
  [ "$(cat out.onnx)" = old ]
  only folder out.onnx
}
