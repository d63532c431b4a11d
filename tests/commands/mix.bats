# dq-mix. Nothing here depends on times: which point is the answer does, and what follows from it is compared. Where the
# machine is too noisy to measure, which dq-mix says with exit status 1, the rest of a test is left out.
load common
load pictures

data=(--data synth:shapes,split=calib,count=32 --eval synth:shapes,count=200)
eval "$(declare -f setup_file | sed '1s/setup_file/setup_common/')"

# mixes ARGUMENT...: status 0 or 1; noisy=yes where the machine is too noisy, so that there is no result
mixes() {
  noisy=no
  run --separate-stderr dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 --time-limit 1s "$@"
  if [ "$status" -eq 0 ]; then return; fi
  if [[ $status -eq 1 && $stderr == *"the machine is too noisy"* ]]; then noisy=yes; fi # callers skip
  if [ "$status" -eq 1 ]; then return; fi
  printf 'dq-mix %s: status %s\n%s\n%s\n' "$*" "$status" "$output" "$stderr"
  return 1
}

setup_file() { # one search, which the tests go on from
  setup_common
  cd "$BATS_FILE_TMPDIR"
  mixes -o mix.onnx --max-drop 100 --save-precision p.json --json mix.json --html mix.html
  if [ $noisy = yes ]; then touch noisy; fi
  echo "$stderr" >mix.stderr
}

begin() { # the files of the search, in a folder of the test
  if [ -e "$BATS_FILE_TMPDIR/noisy" ]; then skip "the machine is too noisy to measure"; fi
  cp "$BATS_FILE_TMPDIR"/* .
}

@test "mix: the result is what dq-int8 writes with its precisions" {
  begin
  grep -q '^dq-mix: --max-drop: on pictures other than these 200 top-1 loses at most' mix.stderr
  dq-int8 "$root/datasets/shapes.onnx" "${data[@]:0:2}" --precision p.json -o again.onnx -q >/dev/null
  cmp mix.onnx again.onnx
}

@test "mix: points of one precision, and of the front with their predictions" {
  begin
  for name in fp32_all fp16_all int8_all mix-1 blind; do
    if [ $name = blind ]; then continue; fi # it may be a point that was found anyway
    grep -q "\"point\": \"$name\"" mix.json
  done
  [ "$(grep -c '"predicted_ms"' mix.json)" -ge 6 ]
  [ "$(grep -c '"other_noise_db"' mix.json)" -ge 6 ]
  awk -F'[:,]' '/"noise_error"/ { found = 1; error = $2 } END { exit !(found && error < 0.5) }' mix.json # dB
  [ "$(grep -c '"answer": true' mix.json)" -eq 1 ]
  grep -q 'Time and loss' mix.html
}

# What a run fuses with a node behind the layer that only moves its result is the time of the layer.
@test "mix: the last layer has its time" {
  run --separate-stderr dq-mix "$models/conv_head.onnx" --data "npy:$x" --max-drop 100 --time-limit 0.1s --threads 1 -o o.onnx --json o.json
  if [[ $status -eq 1 && $stderr == *"the machine is too noisy"* ]]; then skip "the machine is too noisy to measure"; fi
  [ "$status" -eq 0 ]
  awk '/"layer": "head"/ { here = 1 } here && /"(int8|fp32)_ms"/ { sub(/.*: /, ""); if ($0 + 0 > 0) timed++ } here && /}/ { exit }
       END { exit timed != 2 }' o.json
}

@test "mix: another bound measures nothing" {
  begin
  grep -e '"ms"' -e '_db"' mix.json >before
  mixes -o other.onnx --cache mix.onnx.mix --resume --max-drop 0.5 --json other.json
  grep -q '"resumed": true' other.json
  grep -e '"ms"' -e '_db"' other.json >after
  cmp before after
  mixes -o third.onnx --cache mix.onnx.mix --resume --max-drop 100 --save-precision q.json
  cmp mix.onnx third.onnx
  cmp p.json q.json
  dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 -o - --cache mix.onnx.mix --resume --max-drop 100 -q >fourth.onnx
  cmp mix.onnx fourth.onnx
}

# No point within the bound has more noise than one that loses or gains more than the bound (gains also:
# test_mix_costs.c).
@test "mix: a cautious bound" {
  begin
  mixes -o cautious.onnx --cache mix.onnx.mix --resume --max-drop 0.1 --cautious --json cautious.json
  [ $noisy = no ]
  awk -F'[:,]' '/"noise_db"/ { noise[++n] = $2 } /"drop"/ { drop[n] = $2 } /"within"/ { within[n] = $2 ~ /true/ }
       END { for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) if (within[i] && noise[j] <= noise[i] && drop[j] ^ 2 > 0.1 ^ 2) exit 1
             exit n < 6 }' cautious.json
}

@test "mix: bounds that nothing holds: status 1, and the point that loses least is written" {
  begin
  gives 1 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 -o o.onnx --cache mix.onnx.mix --resume --max-drop 100 --max-time 1us
  has "no measured point is within the bounds"
  [ -s o.onnx ]
  gives 1 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 -o o.onnx --cache mix.onnx.mix --resume --max-drop 100 --size 1k
  gives 0 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 -o o.onnx --cache mix.onnx.mix --resume --max-drop 100 --size 1M
}

@test "mix: where too many values are open at a time, points of the front have no float16" {
  local i names=""
  echo "input x -1 3 8 8" >wide.model
  for i in {1..12}; do
    echo "c$i = Conv x w(2,3,3,3) b(2) pads=1,1,1,1" >>wide.model
    names+=" c$i"
  done
  printf '%s\n' "k = Concat$names axis=1" "g = GlobalAveragePool k" "y = Flatten g" "output y -1 24" >>wide.model
  make_models --describe wide.model wide.onnx
  run --separate-stderr dq-mix wide.onnx --data "npy:$x" --max-drop 100 --threads 1 --time-limit 1s -o wide8.onnx --json wide.json \
    --save-precision p.json
  if [[ $status -eq 1 && $stderr == *"too noisy"* ]]; then skip "the machine is too noisy to measure"; fi
  [ "$status" -eq 0 ]
  has "dq-mix: 12 values are open at a time, so that more than 262144 combinations of their precisions would have to be \
looked at: points of the front have float32 and int8 only"
  dq-int8 wide.onnx --data "npy:$x" --precision p.json -o again.onnx -q >/dev/null
  cmp wide8.onnx again.onnx
}

# In float32 the BatchNormalization behind a Concat and the PRelu are two steps; in 8 bits they are one table.
@test "mix: a function and what belongs to it have one precision" {
  printf '%s\n' "input x -1 3 8 8" "c1 = Conv x w(2,3,3,3) pads=1,1,1,1" "c2 = Conv x w(2,3,3,3) pads=1,1,1,1" \
    "k = Concat c1 c2 axis=1" "n = BatchNormalization k p(4) b(4) b(4) p(4)" "p = PRelu n p(4,1,1)" \
    "d = Conv p w(4,4,3,3) pads=1,1,1,1" "g = GlobalAveragePool d" "y = Flatten g" "output y -1 4" >parts.model
  make_models --describe parts.model parts.onnx
  run --separate-stderr dq-mix parts.onnx --data "npy:$x" --max-drop 100 --threads 1 --time-limit 1s -o o.onnx --json parts.json
  if [[ $status -eq 1 && $stderr == *"too noisy"* ]]; then skip "the machine is too noisy to measure"; fi
  [ "$status" -eq 0 ]
  [ "$(sed -n 's/.*"layer": "\([^"]*\)".*/\1/p' parts.json | tr '\n' ' ')" = "c1 c2 k n d " ]
}

@test "mix: precisions of the user are a point" {
  begin
  sed 's/"int8"/"fp32"/; s/"fp16"/"int8"/' p.json >mine.json
  mixes -o o.onnx --cache mix.onnx.mix --resume --max-drop 100 --also mine=mine.json --json also.json
  if [ $noisy = yes ]; then skip "the machine is too noisy to measure"; fi
  grep -q '"point": ".*mine"' also.json
  # A name that is no UTF-8: the point, and the one of one precision that has it too, stay in the file.
  sed 's/"\(int8\|fp16\)"/"fp32"/' p.json >same.json
  cp mix.onnx.mix before.mix
  mixes -o o.onnx --cache mix.onnx.mix --resume --max-drop 100 --also "same"$'\377'"=same.json" --json also.json
  if [ $noisy = yes ]; then skip "the machine is too noisy to measure"; fi
  [ "$(grep -c '"kind"' mix.onnx.mix)" -eq "$(grep -c '"kind"' before.mix)" ]
  grep -q '"name": "fp32_all, .*same' mix.onnx.mix
}

# Layers of a unit have different precisions, so that no choice of precisions for units has them.
@test "mix: precisions within a unit are kept for --resume" {
  begin
  sed 's|\(stem/conv/Conv": "\)[a-z0-9]*|\1int8|; s|\(stem/relu/Relu": "\)[a-z0-9]*|\1fp32|' p.json >part.json
  mixes -o o.onnx --cache mix.onnx.mix --resume --max-drop 100 --also part=part.json --json also.json
  if [ $noisy = yes ]; then skip "the machine is too noisy to measure"; fi
  mixes -o again.onnx --cache mix.onnx.mix --resume --max-drop 100 --json again.json
  cmp o.onnx again.onnx
  sed -n '/"point": "part"/,/"front"/p' also.json >also.point
  sed -n '/"point": "part"/,/"front"/p' again.json >again.point
  [ -s also.point ]
  cmp also.point again.point
  sed 's|stem/relu/Relu": "fp32|stem/relu/Relu": "fp33|' mix.onnx.mix >broken
  gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 -o b.onnx --cache broken --resume --max-drop 100
  has "unknown precision 'fp33'"
}

@test "mix: a cache of something else, a broken one" {
  begin
  local cache=(--cache mix.onnx.mix --resume --max-drop 1 -o o.onnx) version
  version=$(dq-mix --version | cut -d ' ' -f 2)
  gives 3 dq-mix "$root/datasets/shapes.onnx" --data synth:shapes,count=8 --threads 1 "${cache[@]}"
  has "the table is of another data"
  gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]:0:2}" --threads 1 "${cache[@]}"
  has "mix.onnx.mix: 'eval' is"
  gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 2 "${cache[@]}"
  has "another machine, build of dq or number of threads (dq $version wrote it, this is dq $version)"
  has "without --resume the file is written anew"
  # Version 0.1.0 wrote no name of the program, and had other kernels.
  sed '/"program"/d; s/"place": "[0-9a-f]*/"place": "ee4c335261c4818c/' "$BATS_FILE_TMPDIR/mix.onnx.mix" >mix.onnx.mix
  gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 "${cache[@]}"
  has "(dq 0.1.0 wrote it, this is dq $version)"
  cp "$BATS_FILE_TMPDIR/mix.onnx.mix" mix.onnx.mix
  # Everything that a time or a noise depends on is part of what the file is of.
  gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 "${cache[@]}" --batch 7
  has "another --batch, --seed, --shape, --decode or --wisdom"
  has "without --resume the file is written anew"
  gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 "${cache[@]}" --seed 5
  has "without --resume the file is written anew"
  for edit in 's/"rounds": 3/"rounds": 9/' 's/"unit_noise"/"unit_nose"/' 's/"choice": "2/"choice": "7/' 's/"version": 5/"version": 6/' '$d' \
    's/"kind": 2/"kind": -1/' 's/"kind": 2,//' 's/"kind": 2/"kind": "2"/' 's/"round": [0-9]*,//' 's/"round": [0-9]*/"round": true/' 's/"round": [0-9]*/"round": -1/' '/"float32"/,/]/s/[0-9.e-]*[0-9]$/1e999/' \
    '/"pictures"/,/]/s/[0-9.e-]*[0-9]$/1e300/' '/"numbers"/,/]/s/[0-9.e-]*[0-9]$/1e300/' '/"per_element"/,/]/s/[0-9.e-]*[0-9]$/1e300/'; do
    sed "$edit" "$BATS_FILE_TMPDIR/mix.onnx.mix" >mix.onnx.mix
    run -1 cmp -s mix.onnx.mix "$BATS_FILE_TMPDIR/mix.onnx.mix"
    gives 3 dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 "${cache[@]}"
    has "mix.onnx.mix"
    [ ! -e o.onnx ]
  done
}

@test "mix: a search that is killed leaves files that it goes on from" {
  local after
  for after in 0.1 0.4 0.8 1.5; do
    run timeout -s KILL $after dq-mix "$root/datasets/shapes.onnx" "${data[@]}" --threads 1 --max-drop 100 --time-limit 2s \
      -o k.onnx --cache k --resume
    [[ $status == @(0|1|137) ]] # it may be done, or the machine too noisy
    if [ -e k.onnx ]; then dq-report k.onnx >/dev/null; fi
  done
  mixes -o k.onnx --cache k --resume --max-drop 100
  if [ $noisy = yes ]; then skip "the machine is too noisy to measure"; fi
  dq-report k.onnx >/dev/null
  sed -i 's/"rounds": 3/"rounds": 2/' k # as of a search that was killed behind its rounds
  mixes -o k.onnx --cache k --resume --max-drop 100 --json k.json
  if [ $noisy = yes ]; then skip "the machine is too noisy to measure"; fi
  grep -q '"resumed": false' k.json
  grep -q '"rounds": 3' k
}

# More than 4096 steps: time and memory in proportion to their number (many.bats).
@test "mix: very many steps" {
  local seconds=60 options=(--data synth:shapes --limit 2 --max-drop 100 --time-limit 0.1s --points 6 --threads 1)
  if sanitized; then seconds=600; fi
  make_models --many magnitudes 5000 magnitudes.onnx
  run --separate-stderr bash -c 'ulimit -t "$1" && shift && exec "$@"' limited $seconds dq-mix magnitudes.onnx \
    "${options[@]}" --memory 200M -o mix.onnx -q
  if [[ $status -eq 1 && $stderr == *"too noisy"* ]]; then skip "the machine is too noisy to measure"; fi
  [ "$status" -eq 0 ]
}

@test "mix: wrong command lines and models" {
  local m=$root/datasets/shapes.onnx
  gives 2 dq-mix "$m" -o o.onnx --max-drop 1
  has "option '--data SPEC' is needed"
  gives 2 dq-mix "$m" "${data[@]}" --max-drop 1
  has "option '--output FILE' is needed"
  gives 2 dq-mix "$m" "${data[@]}" -o o.onnx
  has "option '--max-drop D' is needed"
  gives 2 dq-mix "$m" "${data[@]}" -o o.onnx --max-drop 1 --max-time 1ms --size 1k
  has "'--size'"
  for text in nothing =x a=; do
    gives 2 dq-mix "$m" "${data[@]}" -o o.onnx --max-drop 1 --also $text
    has "'$text' is no NAME=FILE"
  done
  echo '{"schema": "dq-precision", "version": 1, "layers": {"nobody": "int8"}}' >unknown.json
  gives 3 dq-mix "$m" "${data[@]}" -o o.onnx --max-drop 1 --also a=unknown.json
  has "unknown layer 'nobody'"
  gives 5 dq-mix "$m" "${data[@]}" -o o.onnx --max-drop 1 --also a=missing.json
  has "missing.json: No such file or directory"
  dq-int8 "$m" "${data[@]:0:2}" -o int8.onnx -q >/dev/null
  gives 4 dq-mix int8.onnx "${data[@]}" -o o.onnx --max-drop 1
  has "the model is quantized already"
  make_models --many additions 8200 long.onnx
  gives 4 dq-mix long.onnx --data synth:shapes --limit 1 --task none -o o.onnx --max-drop 1
  has "a run of the network has 8201 steps, at most 8192 are supported"
  gives 4 dq-mix "$models/unknown_operator.onnx" --data "npy:$x" -o o.onnx --max-drop 1
  [ ! -e o.onnx ]
}

@test "mix: figures of a batch, files, messages" {
  local small=("$models/small.onnx" --data "npy:$x" --max-drop 100 --time-limit 0.01s)
  run --separate-stderr dq-mix "${small[@]}" -o a.onnx --threads 2 --verbose --csv a.csv --layers --limit 5 --seed 5 --no-wisdom
  [[ $status == @(0|1) ]]
  has "threads: 2"
  if [ "$status" -eq 1 ]; then # else the table is there
    has "too noisy"
  else
    grep -q '^int8_all,' a.csv # times decide whether a mixture is on the front
    [[ $output == *"Layers of the answer"* ]]
  fi
  local seconds=4
  if sanitized; then seconds=60; fi
  run --separate-stderr timeout $seconds dq-mix "$models/small.onnx" --data synth:shapes,count=100000,size=8 --task none --max-drop 100 \
    -o b.onnx --progress bar --threads 1
  [[ $status == @(0|1|124|130) ]]
  [[ $stderr == *"ing [="* ]]
  run --separate-stderr dq-mix "${small[@]}" -o b.onnx --quiet --threads 1
  [[ $status -eq 1 || $stderr == "" ]]
  run --separate-stderr dq-mix "${small[@]}" -o b.onnx --limit 1 --threads 1
  [[ $status == @(0|1) ]]
  has "dq-mix: warning: a single picture to judge on: its noise decides trials, and 'Other pictures' has that of the same picture"
  pictures 6
  run --separate-stderr dq-mix "$models/small.onnx" --data list.txt --preset tf --eval list.txt --eval-limit 3 --max-drop 100 \
    --time-limit 0.01s -o c.onnx --threads 1
  [[ $status == @(0|1) ]]
  [[ $stderr != *"no labels"* ]]
}
