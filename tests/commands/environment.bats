# What is around a command changes nothing: locale, names of files, HOME, TERM, the current folder, permissions.
load common
eval "common_$(declare -f setup_file)"

# nobody COMMAND...: as a user whom permissions bind, also when root runs the tests
nobody() {
  if [ "$(id -u)" -ne 0 ]; then "$@"; else setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; fi
}
can_be_nobody() { nobody true 2>/dev/null; }

setup_file() {
  common_setup_file
  place=$(mktemp -d)
  chmod 755 "$place" # others than its owner may go there, unlike to the folders of bats
  export place
  cp "$models/small.onnx" "$place/Größe 😀.onnx"
  cp "$x" "$place/Bilder ü.npy"
  if ! nobody test -x "$build/dq-amp" 2>/dev/null; then
    mkdir "$place/bin"
    cp "$build"/dq "$build"/dq-* "$place/bin"
    export PATH="$place/bin:$PATH"
  fi
  mkdir "$place/locales" "$place/reference"
  if [ -f /usr/share/i18n/locales/de_DE ] && command -v localedef >/dev/null; then
    localedef -i de_DE -f UTF-8 "$place/locales/de_DE.UTF-8" || true # the test that needs it skips without
  fi
  export -f everything
  LC_ALL=C bash -c 'everything reference'
}

teardown_file() { rm -rf "$place"; }

# everything FOLDER: all that commands write and print, into that folder of $place, from numbers with decimal points
everything() {
  set -e
  local to="$place/$1" model="$place/Größe 😀.onnx" data="npy:$place/Bilder ü.npy" verb
  dq-amp "$model" -o "$to/halb ñ.onnx" --explain >"$to/amp.txt"
  dq-tucker "$model" -o "$to/energy.onnx" --energy 0.85 --untimed --save-ranks "$to/ranks.json" >"$to/tucker.txt"
  dq-tucker "$model" -o "$to/macs.onnx" --macs -12.5% --untimed --json "$to/tucker.json" >>"$to/tucker.txt"
  dq-tucker "$model" -o "$to/ranks.onnx" --ranks "$to/ranks.json" --csv "$to/tucker.csv" >>"$to/tucker.txt"
  dq-int8 "$model" --data "$data" -o "$to/int8 ñ.onnx" --percentile 99.5 --table "$to/table.json" >"$to/int8.txt"
  for format in tensorrt onnxruntime ncnn; do
    dq-int8 "$model" --use-table "$to/table.json" -o "$to/again.onnx" --table "$to/table.$format" \
      --table-format $format --html "$to/int8.html" >>"$to/int8.txt"
  done
  dq-report "$to/int8 ñ.onnx" --ref "$model" --data "$data" --json "$to/report.json" >"$to/report.txt"
  dq-report "$model" --data synth:shapes --limit 4 --task none --preprocess mean=0.5:0.25:0.125,std=0.5:1.5:2,scale=0.00390625 \
    --html "$to/report.html" --csv "$to/report.csv" >>"$to/report.txt" 2>"$to/report.err"
  dq-report "$to/int8 ñ.onnx" --overflow --data "$data" --max-overflow 99.5 >>"$to/report.txt"
  dq-run "$model" --data "$data" --save-output "$to" >"$to/run.txt"
  dq-bench "$model" --runs 2 --time-limit 0.5s -q --json "$to/bench.json" >/dev/null
  grep -qE '"median_ms": [0-9]+\.[0-9]+' "$to/bench.json"
  rm "$to/bench.json"
  dq-cc "$model" -o "$to/float.c" --steps >"$to/cc.txt"
  dq-cc "$to/int8 ñ.onnx" -o "$to/int8.c" --weights-file "$to/weights.bin" --json "$to/cc.json" >>"$to/cc.txt"
  for verb in amp int8 tucker report run bench cc; do dq $verb --help; done >"$to/help.txt"
}

# same WHAT COMMAND...: everything, started by COMMAND, gives what it gave under LC_ALL=C
same() {
  local what=$1
  shift
  mkdir -m 777 "$place/$what"
  "$@" bash -c "everything $what"
  sed -i "s|$place/$what|$place/reference|g" "$place/$what"/*.{txt,json,csv,html,err}
  diff -r "$place/reference" "$place/$what"
  [ "$(ls "$place/$what" | wc -l)" -ge 31 ]
  rm -r "${place:?}/$what"
}

@test "numbers are read and written with points" {
  local to="$place/reference"
  grep -qE "[0-9]\.[0-9]" "$to/report.txt"
  run -1 grep -qE '[0-9],[0-9]' "$to/report.txt"
  cmp "$to/int8 ñ.onnx" "$to/again.onnx"
  cmp "$to/energy.onnx" "$to/ranks.onnx"
  run -1 cmp -s "$to/energy.onnx" "$to/macs.onnx"
}

@test "a locale with a decimal comma" {
  [ "$(LOCPATH="$place/locales" LC_ALL=de_DE.UTF-8 locale decimal_point 2>/dev/null)" = , ] ||
    skip "de_DE.UTF-8 cannot be built here (package locales)"
  same german env LOCPATH="$place/locales" LC_ALL=de_DE.UTF-8
  same german_numbers env -u LC_ALL LOCPATH="$place/locales" LANG=C.UTF-8 LC_NUMERIC=de_DE.UTF-8
}

@test "C, UTF-8, and a locale that is not there" {
  same utf8 env LC_ALL=C.UTF-8
  same none env LC_ALL=xx_XX.UTF-8
}

@test "names in UTF-8 name the same bytes" {
  dq-amp "$models/small.onnx" -o half.onnx -q >/dev/null
  cmp half.onnx "$place/reference/halb ñ.onnx"
  dq-int8 "$models/small.onnx" --data "npy:$x" --percentile 99.5 -o int8.onnx -q >/dev/null
  cmp int8.onnx "$place/reference/int8 ñ.onnx"
}

@test "no HOME, no TERM, no language" { same bare env -u HOME -u TERM -u LANG -u LC_ALL -u LANGUAGE; }

@test "a current folder that may not be written to" {
  can_be_nobody || skip "root, and no setpriv to be somebody else"
  mkdir -m 555 "$place/here"
  cd "$place/here"
  export -f nobody
  nobody bash -c '! : 2>/dev/null >file'
  same read_only nobody
  only
}

@test "no permission to read, none to write" {
  can_be_nobody || skip "root, and no setpriv to be somebody else"
  mkdir -m 555 "$place/closed"
  cd "$place"
  cp "$models/small.onnx" secret.onnx
  chmod 0 secret.onnx
  local verb
  read_it() { # VERB MODEL OUT
    case $1 in
    amp) nobody dq-amp "$2" -o "$3" ;;
    tucker) nobody dq-tucker "$2" --ratio 0.5 --untimed -o "$3" ;;
    int8) nobody dq-int8 "$2" --data "npy:Bilder ü.npy" -o "$3" ;;
    report) nobody dq-report "$2" --json "$3" ;;
    bench) nobody dq-bench "$2" --runs 1 --json "$3" ;;
    run) nobody dq-run "$2" --input "Bilder ü.npy" --save-output closed ;;
    cc) nobody dq-cc "$2" -o "$3" ;;
    esac
  }
  for verb in amp tucker int8 report bench run cc; do
    gives 5 read_it $verb secret.onnx closed/out
    says "dq-$verb: secret.onnx: Permission denied"
    gives 5 read_it $verb 'Größe 😀.onnx' closed/out
    [[ ${stderr_lines[-1]} == "dq-$verb: "*"closed/"*": Permission denied" ]]
  done
  left=$(ls -A closed)
  [ -z "$left" ]
}
