#!/usr/bin/env bash
# Every model of a folder through the suite, and one table of what came out.
#
# usage: pipeline.sh MODELS OUT [DATA [EVAL]]
#
# MODELS  folder with *.onnx
# OUT     folder for what is written, made when it is not there
# DATA    pictures to calibrate with and to fit to (dq's --data); without, only what needs none is done
# EVAL    labelled pictures to measure accuracy on (default: DATA)
#
# MACS (-20%), PRESET, LIMIT (pictures of DATA) and EVAL_LIMIT come from the environment. A step that
# fails is named in the table and the others go on; the exit status is then 1.
set -uo pipefail
[[ $# -ge 2 && $# -le 4 ]] || { sed -n '3,13s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
models=$1 out=$2 data=${3:-} eval=${4:-${3:-}} failed=0
mkdir -p "$out" || exit 5
fit=(${data:+--data "$data"} ${PRESET:+--preset "$PRESET"} ${LIMIT:+--limit "$LIMIT"})
measure=(${eval:+--data "$eval"} ${PRESET:+--preset "$PRESET"} ${EVAL_LIMIT:+--limit "$EVAL_LIMIT"})

step() { # step NAME COMMAND...: runs it quietly; what it says stands in OUT/NAME.log
  local name=$1
  shift
  "$@" >"$out/$name.log" 2>&1 && return
  echo "$name: $1 failed with status $?: $(tail -n 1 "$out/$name.log")" >>"$out/failed"
  failed=1
  return 1
}

rm -f "$out/failed"
table=()
for model in "$models"/*.onnx; do
  [[ -e $model ]] || { echo "$models: no models" >&2 && exit 3; }
  name=$(basename "$model" .onnx)
  step "$name" dq-report "$model" "${measure[@]}" || continue
  table+=("$model")
  step "$name-half" dq-amp "$model" -o "$out/$name-half.onnx" && table+=("$out/$name-half.onnx")
  step "$name-tucker" dq-tucker "$model" --macs="${MACS:--20%}" --untimed "${fit[@]}" -o "$out/$name-tucker.onnx" &&
    table+=("$out/$name-tucker.onnx")
  [[ $data ]] || continue
  for source in "$model" "$out/$name-tucker.onnx"; do
    [[ -e $source ]] || continue
    result=$(basename "$source" .onnx)-int8
    step "$result" dq-int8 "$source" "${fit[@]}" -o "$out/$result.onnx" && table+=("$out/$result.onnx")
  done
done

[[ ${table[*]-} ]] && { dq-report "${table[@]}" "${measure[@]}" --csv "$out/table.csv" || failed=1; }
[[ -e $out/failed ]] && { echo && cat "$out/failed"; }
exit "$failed"
