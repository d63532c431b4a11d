# Sourced by the checks of tests/packages: TAP.
failed=0 # whether some result was no pass, for the status at the end
result() { # result NAME LINES: no lines is a pass
  number=$((number + 1))
  if [[ -z $2 ]]; then echo "ok $number $1"; else
    failed=1
    echo "not ok $number $1"
    sed 's/^/# /' <<<"$2"
  fi
}
# same_int8 PROGRAM COMMAND...: the file that `COMMAND...`, a dq-int8, writes is that of a program of the sources; prints what
# differs. The folder $out has both.
same_int8() {
  local program=$1 line="datasets/shapes.onnx --data synth:shapes,split=calib,count=64 -q"
  shift
  rm -f "$out/there.onnx"
  "$@" $line -o "$out/there.onnx" >/dev/null 2>"$out/errors" || cat "$out/errors"
  "$program" int8 $line -o "$out/here.onnx" >/dev/null 2>&1
  cmp "$out/there.onnx" "$out/here.onnx" 2>&1
}
skip() { # skip NAME REASON
  number=$((number + 1))
  echo "ok $number $1 # SKIP $2"
}
