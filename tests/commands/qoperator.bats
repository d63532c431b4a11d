# Quantized models in the operator form: the same integers as the explicit form.
load common

# both OPTION...: the model quantized in both forms, q.onnx and o.onnx
both() {
  dq-int8 "$models/small.onnx" --data "npy:$x" -o q.onnx -q "$@" >/dev/null
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o o.onnx --format qoperator "$@"
}

@test "the same outputs, however it is run" {
  for options in "" "--symmetric" "--activations s8" "--activations s8 --symmetric --per-tensor"; do
    both $options
    has "Written on integers:     5"
    outputs q.onnx q "$x"
    outputs o.onnx o "$x"
    outputs o.onnx p "$x" --plain
    near o/y.npy q/y.npy 0
    near p/y.npy q/y.npy 1e-6 # the last product, whose result is not quantized, is a sum of floats there
  done
}

@test "operators that have no form, and bounds that cut" {
  both --symmetric # a Relu with zero point 128: clipped as integers
  gives 0 dq-report o.onnx
  has "QLinearConv"
  has "com.microsoft"
  [ "$(grep -c ' Clip ' <<<"$output")" -ge 2 ]
  both --exclude conv2
  outputs q.onnx q "$x"
  outputs o.onnx o "$x"
  near o/y.npy q/y.npy 0
  dq-report o.onnx >report.txt
  grep -qE '^conv2 +Conv ' report.txt
}

@test "audited alike" {
  both
  for form in q o; do
    dq-report $form.onnx --overflow --data "npy:$x" --csv - | cut -d, -f 1,3- >$form.csv
  done
  cmp q.csv o.csv
  [ "$(wc -l <o.csv)" -eq 5 ]
}

@test "known as quantized" {
  both
  gives 0 dq-int8 o.onnx --data "npy:$x" -o again.onnx
  says "dq-int8: o.onnx: nothing to do, the model is quantized already"
  gives 0 dq-report o.onnx --ref "$models/small.onnx" --data "npy:$x"
  has "Outputs against the reference"
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" -o x.onnx --format qlinear
  says "dq-int8: option '--format': 'qlinear' is not one of qdq, qoperator"
}
