#!/usr/bin/env bats
# Files that once crashed programs, took all memory or did not end, in every command: with --memory 1G status 0 to 5 and
# at most 1.1 GB within 10 s of processor time, and without it within 120 s on all threads. They are not part of the project:
# skipped without them.
load common
export broken=${broken:-${DQ_ASSETS:-$(cd "$BATS_TEST_DIRNAME/../../.." && pwd)/shared}/broken}

setup() {
  [ -d "$broken" ] || skip "$broken is not there (set DQ_ASSETS)"
  own_folder
  touch faults
}

# A test has run all its commands, and none has left a line in `faults`.
teardown() {
  [ -d "$broken" ] || return 0
  cat faults
  [ ! -s faults ]
}

# within SECONDS MB COMMAND...: into `faults` when its status is above 5, or it takes more time or memory
within() {
  local seconds=$1 most=$2 ended memory used
  shift 2
  if sanitized; then seconds=$((30 * seconds)); fi # ThreadSanitizer takes 12 to 20 times as long
  python3 "$BATS_TEST_DIRNAME/measured.py" $seconds took "$@" >said 2>&1
  read -r ended memory used <took
  if sanitized; then memory=0; fi # shadow memory is resident as well
  if [[ $ended -gt 5 || $memory -gt $most ]]; then
    printf '%s: status %s, %s MB, %s s\n' "$*" "$ended" "$memory" "$used" >>faults
    tail -n 5 said >>faults
  fi
}

try() { within 10 1126 "$@" --memory 1G --threads 1; }

# every COMMAND...: with each file in the place of MODEL
every() {
  local file
  for file in "$broken"/*; do try "${@//MODEL/$file}"; done
}

@test "broken files in dq-report" { every dq-report MODEL; }

@test "broken files in dq-run" { every dq-run MODEL --data synth:shapes --limit 1; }

@test "broken files in dq-bench" { every dq-bench MODEL --runs 1 --warmup 0; }

@test "broken files in dq-amp" { every dq-amp MODEL -o out.onnx; }

@test "broken files in dq-int8" { every dq-int8 MODEL --data synth:shapes --limit 2 -o out.onnx; }

@test "the largest broken file without --memory" {
  if sanitized; then skip "the command takes minutes here"; fi
  within 120 2500 dq-amp "$broken/sensitivity_2GB.onnx" -o out.onnx
}

@test "the largest broken file without --memory in dq-int8" {
  [ "${DQ_TEST_LARGE-}" ] || skip "make test-large: it takes 70 s of two processors with AVX2"
  within 120 2500 dq-int8 "$broken/sensitivity_2GB.onnx" --data synth:shapes --limit 2 -o out.onnx
}

@test "broken files in dq-tucker" { every dq-tucker MODEL --ratio 0.5 --untimed -o out.onnx; }

@test "broken pictures as data" {
  local file model="$models/small.onnx"
  for file in "$broken"/*; do
    [[ $file != *.onnx ]] || continue
    echo "$file" >list.txt
    try dq-run "$model" --data list.txt
    try dq-report "$model" --data list.txt
    try dq-int8 "$model" --data list.txt -o out.onnx
    try dq-amp "$model" --check list.txt -o out.onnx
    try dq-tucker "$model" --data list.txt --ratio 0.5 --untimed -o out.onnx
  done
}

@test "broken files in dq-cc" { every dq-cc MODEL -o out.c; }

@test "broken files in dq-train" {
  every dq-train MODEL --data synth:shapes,count=4 --val synth:shapes,count=2 --batch 1 --epochs 1 -o out.onnx
}

@test "broken files in dq-mix" {
  every dq-mix MODEL --data synth:shapes,count=2 --max-drop 100 --time-limit 0.2s -o out.onnx
}

@test "broken files in dq-tune" { every dq-tune MODEL --time-limit 0.2s --wisdom wisdom; }

@test "broken files in dq-multi" { every dq-multi MODEL --requests 1; }

@test "broken files in dq-report --sensitivity" { # one of 10,000 layers after the other takes 6 s
  local file
  for file in "$broken"/*; do
    within 20 1126 dq-report "$file" --sensitivity --data synth:shapes,count=2 --memory 1G --threads 1
  done
}

@test "every command has its broken files here" {
  for verb in $verbs; do grep -q "every dq-$verb MODEL" "$BATS_TEST_FILENAME"; done
}
