# Whether an option has an effect, one line each: what options.bats holds against every command.

# Files that the lines name: they lie in the folder above that in which a command runs.
make_files() {
  cp "$x" x.npy
  cp "$models"/{small,odd_weights,no_inputs,high_bias,loud,open_channels}.onnx .
  pictures 6
  cp list.txt broken.txt
  echo "broken.ppm 1" >>broken.txt
  echo rubbish >broken.ppm
  local six
  six=$(<list.txt)
  for i in {1..700}; do echo "$six"; done >many.txt
  mkdir pictures
  cp p?.ppm pictures
  cp list.txt labels.txt
  printf 'circle\nsquare\nstar\nring\n' >names.txt
  printf '{"schema": "dq-policy", "version": 1, "operators": {"Relu": "deny"}}' >policy.json
  printf '{"schema": "dq-precision", "version": 1, "layers": {"conv1": "fp32"}}' >precision.json
  printf '{"schema": "dq-ranks", "version": 1, "layers": {}}' >ranks.json
  printf 'patient,p10,p90,mean,std\np0,1,2,3,4\n' >norm.csv
  dq-int8 small.onnx --data npy:x.npy --table table.json -o int8.onnx -q >/dev/null
  dq-int8 small.onnx --data npy:x.npy --limit 2 --all-int8 --table other.json -o other.onnx -q >/dev/null
  dq-amp small.onnx -o half.onnx -q >/dev/null
  mkdir -p suite/test_a/test_data_set_0 # its case fails: an output of another shape
  cp no_inputs.onnx suite/test_a/model.onnx
  printf '\x08\x04\x10\x01\x4a\x10' >suite/test_a/test_data_set_0/output_0.pb
  head -c 16 /dev/zero >>suite/test_a/test_data_set_0/output_0.pb
  ${CC:-cc} -O1 -shared -fPIC -o clock.so "$root/tests/snapshots/counted_clock.c"
}

# hurried COMMAND...: with a clock that is a tenth of a second later at each reading, so that little work has a bar
hurried() {
  LD_PRELOAD=$PWD/../clock.so COUNTED_TIMES=100 ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 "$@"
}

# The options that a command has, from its completion: "NAME a" with choices, "NAME x" with a value, "NAME" without.
options_of() { "$1" --help-complete fish | sed -nE "s/^complete -c $1 -l ([a-z0-9-]+).*/\1/p" | grep -vE '^(help|version)$'; }

in_folder() { # in_folder NAME COMMAND...: standard output and error in NAME.out and NAME.err, the status in $code
  local folder=$1
  shift
  rm -rf "$folder"
  mkdir "$folder"
  code=0
  (
    cd "$folder" || exit
    "$@" >"../$folder.out" 2>"../$folder.err"
  ) || code=$?
}

said() { grep -qF -- "$2" "$1.out" "$1.err"; }

unsaid() {
  local found=0
  grep -qF -- "$2" "$1.out" "$1.err" || found=$?
  [ "$found" -eq 1 ]
}

other() { # other FILE FILE: both are there and differ
  local same=0
  cmp -s "$1" "$2" || same=$?
  [ "$same" -eq 1 ]
}

both_fine() { [ "$code $without" = "0 0" ]; }

# shows KIND WHAT: of the two runs of `effect`
shows() {
  case $1 in
  file)
    [ "$code" -eq 0 ] || return
    [ -s "with/$2" ] || return
    [ ! -e "without/$2" ]
    ;;
  bytes)
    both_fine || return
    other "with/$2" "without/$2"
    ;;
  differs)
    both_fine || return
    other "with.$2" "without.$2"
    ;;
  drops)
    both_fine || return
    said without "$2" || return
    unsaid with "$2"
    ;;
  inert)
    [[ $option == --@(seed|progress|quiet) ]] || return
    both_fine || return
    cmp -s with.out without.out || return
    cmp -s with.err without.err
    ;;
  elsewhere)
    [ "$code" -eq 0 ] || said with "the machine is too noisy" || return
    grep -q -e "$option\b" "$BATS_TEST_DIRNAME/$2"
    ;;
  *)
    [ "$code" -eq "$1" ] || return
    said with "$2" || return
    [ "$without" -ne "$1" ] || unsaid without "$2"
    ;;
  esac
}

# effect COMMAND OPTION VALUE CONTEXT CHECK: whether the option shows as CHECK says with it, and not without it
effect() {
  local command=$1 option=--$2 value=$3 context code without words clock=()
  eval "context=($4)"
  words=("$option")
  [ "$value" = - ] || words=("$option=$value")
  [ "$option" != --progress ] || clock=(hurried)
  in_folder without "${clock[@]}" "$command" "${context[@]}"
  without=$code
  in_folder with "${clock[@]}" "$command" "${context[@]}" "${words[@]}"
  shows "${5%% *}" "${5#* }" && return
  printf '%s %s %s: "%s" does not show, status %s and %s without\n' "$command" "${context[*]}" "${words[*]}" "$5" "$code" "$without"
  cat with.err
  return 1
}

# effects COMMAND: lines "OPTION VALUE | CONTEXT | CHECK" from standard input, VALUE "-" for flags. CHECK is a status and a
# text that is said; "file NAME" that is written; "bytes NAME" that become others; "differs out" or "differs err"; "drops
# TEXT" that is said without it only; "elsewhere FILE" where the effect takes more than a line to show; "inert" for an option of
# all commands that this one has no use for: nothing changes.
effects() {
  local command=$1 line first context check tested=" "
  make_files
  local failed=0
  while IFS= read -r line; do
    first=${line%% | *} check=${line##* | }
    context=${line#* | } context=${context% | *}
    run effect "$command" "${first%% *}" "${first#* }" "$context" "$check"
    if [ "$status" -ne 0 ]; then # the function fails at its end
      echo "$output"
      failed=1
    fi
    tested+="${first%% *} "
  done
  for option in $(options_of "$command"); do # help has each of them, as options.bats says
    [[ $tested == *" $option "* ]] && continue
    echo "$command --$option: no line shows what it does"
    failed=1
  done
  return $failed
}
