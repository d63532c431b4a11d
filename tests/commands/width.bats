# Tables on terminals: columns are left out before names are shortened. `script` gives a terminal of a width.
load common

setup() {
  own_folder
  script -qec true /dev/null >/dev/null || skip "script gives no terminal here"
}

# on_terminal COLUMNS COMMAND...: what it prints on a terminal so wide, in $output
on_terminal() {
  local columns=$1
  shift
  run script -qec "stty cols $columns; $(printf '%q ' "$@")" /dev/null
  output=${output//$'\r'/}
  [ "$status" -eq 0 ]
}

# fits COLUMNS: no line is wider, and no name is shortened
fits() {
  local line
  while IFS= read -r line; do
    if ((${#line} > $1)) || [[ $line == *...* ]]; then
      echo "on $1 columns: $line"
      return 1
    fi
  done <<<"$output"
}

setup_file() {
  command -v script >/dev/null || skip "no script(1) to make a terminal"
  load common
  bats_require_minimum_version 1.5.0
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=$(cd "$root" && realpath "${DQ_BUILD:-build}")
  export root build NO_COLOR=1 PATH="$build:$PATH" shapes="$root/datasets/shapes.onnx" int8="$BATS_FILE_TMPDIR/int8.onnx"
  export -n COLUMNS
  "$build/dq-int8" "$shapes" --data synth:shapes --limit 8 -o "$int8" -q >/dev/null
}

@test "80 and 120 columns hold every table" {
  for columns in 80 120; do
    on_terminal $columns dq-report "$int8" --ref "$shapes" --data synth:shapes --limit 8 -q
    fits $columns
    has "/pool/GlobalAveragePool"
    on_terminal $columns dq-report "$shapes"
    fits $columns
    has "/residual/second/norm/BatchNormalization"
    has "(a wider terminal or --csv shows them)"
    on_terminal $columns dq-report "$int8" --overflow --data synth:shapes --limit 8 -q
    fits $columns
    on_terminal $columns dq-report "$shapes" "$int8" --data synth:shapes --limit 8 -q
    fits $columns
    on_terminal $columns dq-report "$shapes" --sensitivity --data synth:shapes --limit 2 -q
    fits $columns
    on_terminal $columns dq-int8 "$shapes" --data synth:shapes --limit 8 -o out.onnx -q
    fits $columns
    on_terminal $columns dq-int8 "$shapes" --data synth:shapes --limit 8 -o out.onnx --overflow -q
    fits $columns
    on_terminal $columns dq-tucker "$shapes" --ratio 0.5 --untimed --data synth:shapes --limit 8 -o out.onnx -q
    fits $columns
    on_terminal $columns dq-amp "$shapes" -o out.onnx --explain -q
    [ "$(awk -v most=$columns 'length($0) > most' <<<"$output" | grep -vc '^On ')" -eq 0 ]
    on_terminal $columns dq-bench "$shapes" "$int8" --per-layer --runs 2 --warmup 1 -q
    [ "$(awk -v most=$columns 'length($0) > most' <<<"$output" | grep -c '^[^ ]*  ')" -eq 0 ]
  done
}

@test "COLUMNS says how wide a terminal is; what is no terminal gets all columns" {
  on_terminal 300 dq-report "$shapes"
  has "Precision"
  on_terminal 300 env COLUMNS=80 dq-report "$shapes"
  has "(a wider terminal or --csv shows them)"
  fits 80
  on_terminal 80 env COLUMNS=nonsense dq-report "$shapes"
  fits 80
  gives 0 env COLUMNS=80 dq-report "$shapes"
  has "Precision"
}
