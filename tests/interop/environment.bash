# Sets `python` to an interpreter that has ONNX Runtime, onnx and numpy: of DQ_VENV, else of BUILD/venv, where they are
# installed from the package registry at first. usage: source tests/interop/environment.bash BUILD NAME. It ends the
# script with a skipped test NAME where they cannot be installed. Of scripts that run at once one installs.
venv=${DQ_VENV:-$1/venv}
mkdir -p "$1"
exec {lock}>"$1/venv.lock"
flock "$lock"
if ! "$venv/bin/python" -c 'import onnxruntime, onnx, numpy' 2>/dev/null; then
  if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q onnxruntime onnx numpy; } >&2; then
    echo "ok 1 $2 # SKIP ONNX Runtime cannot be installed here"
    echo "1..1"
    exit 0
  fi
fi
exec {lock}>&- # the next one may look
python=$venv/bin/python
