# The retraining hook: what it gets, what is taken, and everything that can go wrong with it.
load common

tucker() { gives "$1" dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --retrain "$2" "${@:3}"; }

# refused CMD REASON [OPTION...]: exit 1, the reason, the decomposed model and nothing else beside it
refused() {
  dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o plain.onnx >/dev/null
  tucker 1 "$1" "${@:3}"
  has "dq-tucker: retraining hook: $2"
  has "hint: out.onnx holds the decomposed model"
  cmp plain.onnx out.onnx
  rm plain.onnx
  only out.onnx "${kept[@]}"
}

# first_weight BYTES: a hook that puts these in the place of the first element of the last core: behind
# its name, the tag and two bytes of length
first_weight() {
  echo 'cp "$DQ_MODEL" "$DQ_OUTPUT" && n=tucker_core_weight && at=$(grep -abo $n "$DQ_MODEL" | tail -n 1 | cut -d: -f1) &&
    printf "'"$1"'" | dd of="$DQ_OUTPUT" bs=1 seek=$((at + ${#n} + 3)) conv=notrunc status=none'
}

@test "what the hook gets" {
  tucker 0 'cmp "$DQ_MODEL" out.onnx && cp "$DQ_SPEC" spec.json && cat "$DQ_ORIGINAL" >original &&
    echo "data is $DQ_DATA" && cp "$DQ_MODEL" "$DQ_OUTPUT"' --data "npy:$x"
  has "data is npy:$x"
  cmp original "$models/small.onnx"
  grep -q '"schema": "dq-hook"' spec.json
  grep -q '/tucker_core_weight"' spec.json
  only original out.onnx spec.json
}

@test "what the hook wrote is taken" {
  dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o plain.onnx >/dev/null
  tucker 0 "$(first_weight '\0\0\0\77') && cp \"\$DQ_OUTPUT\" written" # 0.5
  run -1 cmp -s plain.onnx out.onnx
  rm plain.onnx
  cmp written out.onnx
  only out.onnx written
}

@test "missing, failing, killed" {
  refused ./no-such-hook "the command ended with exit status 127 (command not found)"
  refused 'exit 1' "the command ended with exit status 1"
  refused 'kill -9 $$' "the command was killed by signal 9"
  refused 'echo half >"$DQ_OUTPUT"; exit 3' "the command ended with exit status 3"
}

@test "hangs past the time limit, with what it started" {
  start=$SECONDS
  refused 'sleep 77 & sleep 77' "the command took longer than the time limit of 0.3 s" --time-limit 0.3s
  refused 'trap "" TERM; while :; do sleep 0.1; done' "the command took longer than the time limit of 0.3 s" --time-limit 0.3s
  ((SECONDS - start < 15))
}

@test "writes nothing, rubbish, another network" {
  refused true "the command wrote nothing to the file DQ_OUTPUT"
  refused 'echo rubbish >"$DQ_OUTPUT"' ""
  refused ': >"$DQ_OUTPUT"' ""
  refused 'head -c 200 "$DQ_MODEL" >"$DQ_OUTPUT"' ""
  refused 'mkdir "$DQ_OUTPUT"' ""
  refused "cp $models/shared.onnx \"\$DQ_OUTPUT\"" ""
  refused 'cp "$DQ_ORIGINAL" "$DQ_OUTPUT"' "node 'conv"
  refused 'dq-tucker "$DQ_ORIGINAL" --ratio 0.25 --untimed -o "$DQ_OUTPUT" -q >/dev/null' ""
  refused 'sed s/tucker_core/tucker_CORE/g "$DQ_MODEL" >"$DQ_OUTPUT"' "node '"
}

@test "writes NaN or infinity" {
  refused "$(first_weight '\0\0\300\177')" "initializer 'conv2/tucker_core_weight': element 0 is nan"
  refused "$(first_weight '\0\0\200\377')" "initializer 'conv2/tucker_core_weight': element 0 is -inf"
  # finite weights whose outputs are not
  refused "$(first_weight '\377\377\177\177\377\377\177\177\377\377\177\177')" "output '"
}

@test "spoils the copy it was given" {
  refused 'echo >"$DQ_MODEL"; exit 1' "the command ended with exit status 1"
}

@test "prints 100 MB" {
  tucker 0 'yes line | head -c 100000000; cp "$DQ_MODEL" "$DQ_OUTPUT"'
  has "output of the command beyond 1024 KiB was dropped"
  ((${#stderr} < 2000000))
  sanitized || (ulimit -v 2000000 && gives 0 dq-tucker "$models/small.onnx" --threads 1 --ratio 0.5 --untimed -o out.onnx --retrain \
    'yes line | head -c 100000000 >&2; cp "$DQ_MODEL" "$DQ_OUTPUT"')
}

@test "an interrupt ends the hook and all it started" {
  dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --retrain 'echo $$ >pid; sleep 88' >/dev/null 2>&1 3>&- &
  local tool=$!
  while [ ! -s pid ]; do sleep 0.05; done
  kill -INT $tool
  local code=0
  wait $tool || code=$?
  [ "$code" -eq 130 ]
  # nothing of its group is left but what waits to be reaped
  local all
  all=$(cat /proc/[0-9]*/stat 2>/dev/null) || true # processes end while they are listed
  [ "$(awk -v group="$(cat pid)" '$5 == group && $3 != "Z" { found++ } END { print found + 0, (NR > 1) }' <<<"$all")" = "0 1" ]
  rm pid
  only out.onnx
}

@test "builtin trains the decomposed model towards the original, without labels" {
  local shapes=$root/datasets/shapes.onnx
  local data=(--untimed --data synth:shapes,split=calib,count=128 --eval synth:shapes,count=400 -q)
  local words=(--macs -60% "${data[@]}")
  gives 0 dq-tucker "$shapes" --macs -80% "${data[@]}" -o out.onnx --retrain builtin,epochs=3,lr=0.0003 --json facts.json
  awk -F'[:,]' '/"before"/ { b = $2 } /"converted"/ && !c { c = $2 } /"after"/ && !a { a = $2 } END { exit !(c < a && a <= 100) }' \
    <(grep -A8 '"key": "top1"' facts.json)
  only facts.json out.onnx
  gives 0 dq-tucker "$shapes" "${words[@]}" -o steps.onnx --retrain builtin,epochs=1,lr=0.00001 --every 3 # three steps
  gives 1 dq-tucker "$shapes" "${words[@]}" -o worse.onnx --retrain builtin,epochs=1,lr=0.1
  says "dq-tucker: retraining: the training made the model worse; kept is the model as it was
hint: worse.onnx holds the decomposed model"
  dq-tucker "$shapes" "${words[@]}" -o plain.onnx >/dev/null
  cmp plain.onnx worse.onnx
}

@test "usage" {
  gives 2 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --retrain builtin
  says "dq-tucker: --retrain builtin needs the pictures of --data"
  while read -r words; do
    gives 2 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --data "npy:$x" --retrain "builtin,$words"
  done <<'END'
epochs=0
epochs=1.5
batch=x
lr=0
lr=
temperature=0
feature-loss=-1
nonsense
crop=0
lr=0.00010000000000000000000000000000000000000000000000000000000000
,
END
  tucker 1 builtins # a command of that name
  rm out.onnx
  gives 2 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o - --retrain true
  only
  gives 0 dq-tucker "$models/tiny.onnx" --ratio 0.5 --untimed -o out.onnx --retrain false
  has "nothing was decomposed"
}

@test "a shell script and a program in C" {
  dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o plain.onnx >/dev/null
  tucker 0 "$BATS_TEST_DIRNAME/hook.sh"
  has "layers: 2, data: none"
  cmp plain.onnx out.onnx
  cc -o hook "$BATS_TEST_DIRNAME/hook.c"
  tucker 0 "./hook tucker_core_weight && cp \"\$DQ_OUTPUT\" written"
  run -1 cmp -s plain.onnx out.onnx
  cmp written out.onnx
  only hook out.onnx plain.onnx written
  rm plain.onnx written
  kept=(hook)
  refused "./hook no_such_weight" "the command ended with exit status 1"
}

@test "accuracy before decomposition, after it and after retraining" {
  shapes="$root/datasets/shapes.onnx" eval=(--eval synth:shapes,count=40 --untimed --json table.json)
  gives 0 dq-tucker "$shapes" --ratio 0.5 -o out.onnx "${eval[@]}"
  grep -q '"before": ' table.json
  grep -q '"after": ' table.json
  run -1 grep -q '"converted": ' table.json
  gives 0 dq-tucker "$shapes" --ratio 0.5 -o out.onnx "${eval[@]}" --retrain 'cp "$DQ_MODEL" "$DQ_OUTPUT"'
  # what the hook hands back unchanged is as good as it was
  figures() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" table.json; }
  [ -n "$(figures converted)" ]
  [ "$(figures converted)" = "$(figures after)" ]
  [ "$(figures before)" != "$(figures after)" ]
  gives 1 dq-tucker "$shapes" --ratio 0.5 -o out.onnx "${eval[@]}" --retrain false
  grep -q '"before": ' table.json
  run -1 grep -q '"converted": ' table.json
  # of what --every made, too
  gives 0 dq-tucker "$shapes" --ratio 0.5 -o out.onnx "${eval[@]}" --every 2 --retrain 'cp "$DQ_MODEL" "$DQ_OUTPUT"'
  grep -q '"converted": ' table.json
}

@test "the verdict is that of what the hook wrote, or of the model that stays" {
  verdict() { sed -n "s/^On 2 samples of noise \(.*\)/\1/p" <<<"$output"; }
  gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed --refine -o refined.onnx
  refined=$(verdict)
  tucker 0 'cp refined.onnx "$DQ_OUTPUT"'
  [ "$(verdict)" = "$refined" ]
  tucker 1 false
  [ -n "$(verdict)" ]
  [ "$(verdict)" != "$refined" ]
  tucker 1 'cp refined.onnx "$DQ_OUTPUT"' --min-sqnr 90
  has "dq-tucker: out.onnx: output 'y' has an SQNR of"
  cmp refined.onnx out.onnx
}

@test "some layers at a time" {
  # every step gets what the step before wrote, with the layers of its own listed
  tucker 0 'grep -o "\"layer\": \"[^\"]*\"" "$DQ_SPEC" >>steps; cp "$DQ_MODEL" "$DQ_OUTPUT"' --every 1
  has "layers 1 to 1 of 2"
  has "layers 2 to 2 of 2"
  [ "$(cat steps)" = $'"layer": "conv1"\n"layer": "conv2"' ]
  dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o plain.onnx >/dev/null
  outputs out.onnx a "$x"
  outputs plain.onnx b "$x"
  near a/y.npy b/y.npy 0.0001
  rm -r a b steps plain.onnx
  # the second step fails: the first one stays, retrained
  gives 1 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --every 1 --retrain \
    '[ ! -e first ] && : >first && cp "$DQ_MODEL" "$DQ_OUTPUT"'
  has "dq-tucker: retraining hook: the command ended with exit status 1"
  only first out.onnx
  gives 2 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --every 1
}
