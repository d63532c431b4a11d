# Calibration tables of other programs, written and read again.
load common

quantize() { gives "$1" dq-int8 "$models/small.onnx" -o out.onnx "${@:2}"; }

setup_table() { dq-int8 "$models/small.onnx" --data "npy:$x" -o a.onnx --equalize off --bias-correction off --accumulator int32 "$@" -q >/dev/null; }

@test "tables that were written read back" {
  setup_table --symmetric --activations s8 --table t.cache
  for name in tensorrt:t.cache onnxruntime:calibration.json ncnn:t.table; do
    setup_table --symmetric --activations s8 --table "${name#*:}"
    quantize 0 --use-table "${name#*:}" --symmetric --activations s8
    outputs a.onnx a "$x"
    outputs out.onnx b "$x"
    near b/y.npy a/y.npy 0.01
  done
  setup_table --table calibration.json # ranges, not scales: the same model but for the table's own facts
  quantize 0 --use-table calibration.json
  outputs a.onnx a "$x"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0
}

@test "a TensorRT cache by hand" {
  printf '%s\n' "TRT-8600-EntropyCalibration2" "x: 3c010204" "b: 3c810204" "c: 3c810204" "e: 3c010204" "f: 3c010204" \
    "y: 3c010204" "unused: 3f800000" >t.cache
  quantize 0 --use-table t.cache --symmetric
  # 3c010204 is 1/127: -1 to 1, but from 0 behind a Relu
  grep -qE "^relu1 +Relu +yes +0 +2 +0.0156863 +128 *$" <<<"$output"
  grep -qE "^depthwise +Conv +yes +-2 +2 +0.0156863 +128 " <<<"$output"
  has "Ranges by:               another program's table"
  quantize 0 --use-table t.cache
  grep -qE "^relu1 +Relu +yes +0 +2 +0.00784314 +0 *$" <<<"$output"
}

@test "ONNX Runtime's newer form, ncnn's lines of weights" {
  printf '{"CLS": "TensorsData", "data": {' >c.json
  for name in x b c e f; do
    printf '"%s": {"lowest": {"data": [-1.5], "dtype": "float32", "CLS": "numpy.array"}, "highest": {"data": 2.0}}, ' $name
  done >>c.json
  printf '"y": {"lowest": -1, "highest": 1}}}' >>c.json
  quantize 0 --use-table c.json
  grep -qE "^depthwise +Conv +yes +-1.5 +2 " <<<"$output"
  printf '%s\r\n' "conv1_param_0 1.5 2.5" "x 127" "b 63.5" "c 127" "e 127" "f 127" "y 127" >n.table
  quantize 0 --use-table n.table
  grep -qE "^depthwise +Conv +yes +-1 +1 " <<<"$output"
}

@test "tables that are refused" {
  refused() { # WORDS
    quantize 3 --use-table t
    has "$1"
    [ ! -e out.onnx ]
  }
  printf 'TRT-8600\nx: 3c010204\n' >t
  refused "the table has no value 'b'"
  printf 'TRT-8600\nx: 7fc00000\n' >t
  says_line="t: line 2: value 'x': the scale is not finite"
  refused "$says_line"
  printf 'TRT-8600\nx: 7f800000\n' >t
  refused "$says_line"
  printf 'TRT-8600\nx: 7f7fffff\n' >t
  refused "$says_line"
  printf 'TRT-8600\nx: 00000000\n' >t
  refused "t: line 2: value 'x': the range has no width"
  printf 'TRT-8600\nx: bc010204\n' >t
  refused "t: line 2: value 'x': the range has no width"
  printf 'TRT-8600\nx: 3c0102\n' >t
  refused "t: line 2: expected 'name: ' and 8 hexadecimal digits"
  printf 'TRT-8600\nx: 3c010204\nx: 3c010204\n' >t
  refused "t: line 3: value 'x' stands there twice"
  echo TRT-8600 >t
  refused "t: no value with its range is in the file, expected one or more"
  echo '{"x": {"lowest": 1, "highest": -1}}' >t
  refused "t: value 'x': lowest 1 is above highest -1"
  echo '{"x": {"lowest": 1, "highest": 1}}' >t
  refused "t: value 'x': the range has no width"
  echo '{"x": {"lowest": -1, "highest": 1e999}}' >t
  refused "t: "
  echo '{"x": {"lowest": -1, "highest": NaN}}' >t
  refused "t: line 1: "
  echo '{"x": {"lowest": -1}}' >t
  refused "t: value 'x': 'highest' is not a finite number"
  echo '{"x": {"lowest": {"data": [-1.5, 2]}, "highest": 2}}' >t # a range has one end, not one for each channel
  refused "t: value 'x': 'lowest' is not a finite number"
  echo '{"x": {"lowest": -1, "highest": 1}}' >t
  refused "the table has no value 'b'"
  echo '{}' >t
  refused "t: no value with its range is in the file, expected one or more"
  printf 'x 127\nb\n' >t
  refused "t: line 2: expected 'name' and a scale"
  printf 'x 127\nb \n' >t
  refused "t: line 2: expected 'name' and a scale"
  printf 'x 127\nb much\n' >t
  refused "t: line 2: expected 'name' and a scale"
  printf 'x 127 5\n' >t
  refused "t: line 1: expected 'name' and a scale"
  printf 'x nan\n' >t
  refused "t: line 1: value 'x': the scale is not finite"
  printf 'x inf\n' >t
  refused "t: line 1: value 'x': the range has no width"
  printf 'x 1e300\n' >t
  refused "t: line 1: value 'x': the range has no width"
  printf 'x 1e-43\n' >t
  refused "t: line 1: value 'x': the scale is not finite"
  printf 'x -3\n' >t
  refused "t: line 1: value 'x': the scale is not finite"
  printf 'x 127\n' >t
  refused "the table has no value 'b'"
  printf '\0\1\2' >t
  refused "t: "
}
