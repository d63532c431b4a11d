# dq-cc: what it refuses, by which message, and that nothing is written then.
load common

setup() {
  own_folder
  dq-int8 "$models/small.onnx" --data "npy:$x" -o int8.onnx -q >/dev/null
}

# The path of a model with an operator that has no C.
no_c() {
  printf 'opset = 19\ninput x 1 3 8 8\ny = DeformConv x w(3,3,1,1) b(1,2,8,8)\noutput y 1 3 8 8\n' >"$BATS_TEST_TMPDIR/bad.model"
  make_models --describe "$BATS_TEST_TMPDIR/bad.model" "$BATS_TEST_TMPDIR/bad.onnx"
  echo "$BATS_TEST_TMPDIR/bad.onnx"
}

# refused STATUS MESSAGE ARGUMENTS...: dq-cc ends with the status and the message, and leaves the folder as it was.
refused() {
  local status=$1 message=$2 before after
  shift 2
  before=$(ls && cat ./*.onnx | cksum)
  gives "$status" dq-cc "$@"
  has "$message"
  after=$(ls && cat ./*.onnx | cksum)
  [ "$before" = "$after" ]
}

@test "what has no C is named" {
  refused 4 "bad.onnx: node 'y': operator DeformConv has no C yet" "$(no_c)" -o net.c
}

@test "a step with more inputs than a function has parameters is refused" {
  printf 'input x 1 2 4\ny = Relu x\nz = Concat%s axis=1\noutput z\n' "$(printf ' y%.0s' {1..127})" >many.model
  make_models --describe many.model many.onnx
  refused 4 "node 'z': 128 inputs and outputs, and C is written for at most 127 of a step" many.onnx -o net.c
  sed -i 's/Concat y/Concat/' many.model
  make_models --describe many.model many.onnx
  gives 0 dq-cc many.onnx -o net.c --verify
  has "Elements that differ: 0"
}

@test "nodes that dq does not run, cycles, wrong attributes and opsets are named, and nothing is written" {
  while read -r status name words; do
    refused "$status" "$words" "$models/$name.onnx" -o net.c
  done <<'END'
4 unknown_operator node 'strange': operator Frobnicate (opset 13) is not supported
4 unknown_domain node 'strange': operator Frobnicate of domain 'com.example' is not supported
4 if node 'choice': operator If (opset 13) is not supported
4 loop node 'repeat': operator Loop (opset 13) is not supported
4 scan node 'walk': operator Scan (opset 13) is not supported
4 function node 'twice': Twice of domain 'local' is a function of the model, and functions are not run
4 nan_weight node 'conv2': padding and weights that are not finite give NaN, and C leaves padding out
4 bfloat16 input 'x' has elements of type bfloat16, which is not supported
2 sequences input 'x': dimension 1 ('length') is not known
3 cycle node 'add' is part of a cycle or depends on one
3 nobody_produces node 'add': input 'ghost' is not produced by anything
3 too_many_inputs node 'relu': 2 inputs, expected 1
3 wrong_attribute node 'relu': attribute 'alpha' is of type int, expected float
3 zero_stride node 'conv1': attribute 'strides' holds 0, expected 1 to 2147483647
3 bad_group node 'conv1': 2 groups do not divide 3 input channels
3 large_kernel node 'conv1': the kernel covers 7, more than the 4 elements of the padded input along spatial axis 0
4 ir_99 IR version 99, supported are 3 to 14
4 opset_6 opset 6, supported are 7 to 28
4 opset_99 opset 99, supported are 7 to 28
3 no_outputs the graph has no outputs
END
  for name in no_nodes initializer_output weight_output double; do
    gives 0 dq-cc "$models/$name.onnx" -o net.c --verify
    has "Elements that differ: 0"
  done
}

@test "a file that ends too early is refused, or is a valid model, and nothing is written else" {
  local bytes size refused_ones=0
  size=$(wc -c <int8.onnx)
  for bytes in $(seq 0 $((size / 60)) $((size - 1))) $((size - 1)); do
    head -c "$bytes" int8.onnx >cut.onnx
    run --separate-stderr dq-cc cut.onnx -o cut.c
    if [ "$status" -eq 0 ]; then # else it is refused, below
      gives 0 cc -std=c99 -c cut.c -o cut.o
      rm cut.c cut.h cut.o
      continue
    fi
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ]
    [[ $stderr == "dq-cc: cut.onnx: "* ]]
    refused_ones=$((refused_ones + 1))
    only cut.onnx int8.onnx
  done
  [ "$refused_ones" -gt 50 ]
}

@test "constants that take more memory than there may be" {
  printf 'input x 1 512\ny = Gemm x w(512,512)\noutput y 1 512\n' >large.model
  make_models --describe large.model large.onnx
  rm large.model
  refused 5 "large.onnx: writing the constants needs 11 MiB of memory beside 1 MiB in use, --memory allows 8 MiB" large.onnx -o net.c --memory 8M
  gives 0 dq-cc large.onnx -o net.c --memory 16M
  gives 0 dq-cc large.onnx -o net.c --weights-file net.bin --memory 8M
}

@test "sizes that the model leaves open are asked for" {
  refused 2 "input 'images': dimension 2 ('height') is not known" "$models/open_size.onnx" -o net.c
  has "hint: give it, for example with --shape images=1,3,224,224"
  gives 0 dq-cc "$models/open_size.onnx" -o net.c --shape 64,64
}

@test "names of the network that are none in C, in the message" {
  for name in int class 9net net-1 _net größe "a b"; do
    refused 2 "'$name' is no name in C: expected a letter, then letters, digits and underscores, and no keyword" \
      int8.onnx -o net.c --name "$name"
  done
}

@test "files that cannot be written, or that are one" {
  refused 5 "dq-cc: nowhere/net.c: No such file or directory" int8.onnx -o nowhere/net.c --header net.h
  refused 5 "dq-cc: nowhere/net.h: No such file or directory" int8.onnx -o net.c --header nowhere/net.h
  refused 5 "dq-cc: nowhere/w.bin: No such file or directory" int8.onnx -o net.c --weights-file nowhere/w.bin
  for place in "-o /dev/full --header net.h" "-o net.c --header /dev/full" "-o net.c --weights-file /dev/full"; do
    refused 5 "dq-cc: /dev/full: No space left on device" int8.onnx $place
  done
  mkdir folder
  refused 5 "dq-cc: folder: is a folder, expected a file name" int8.onnx -o folder
  refused 2 "-o and the header are both './net.c'; give two files" int8.onnx -o net.c --header ./net.c
  refused 2 "-o and --weights-file are both '$PWD/net.c'; give two files" int8.onnx -o net.c --weights-file "$PWD/net.c"
  refused 2 "the header and --weights-file are both 'net.h'; give two files" int8.onnx -o net.c --weights-file net.h
  refused 2 "-o is 'int8.onnx', which is the model; give another file" int8.onnx -o int8.onnx --header net.h
  ln -s int8.onnx link.h
  refused 2 "the header is 'link.h', which is the model; give another file" int8.onnx -o net.c --header link.h
  refused 2 "--portable" int8.onnx -o net.c --portable --weights-file w.bin
  echo old >net.c
  refused 4 "has no C yet" "$(no_c)" -o net.c
  grep -qx old net.c
  gives 0 dq-cc int8.onnx -o net.c --portable
  grep -q "^static const int8_t" net.c
  run -1 grep -qx old net.c
  gives 2 dq-cc int8.onnx -o -
  has "-o - leaves the header without a name; give --header"
  gives 2 dq-cc int8.onnx -o net.c --data "npy:$x"
  has "--data is for --verify"
}

@test "more elements, and windows that reach farther, than counters of 32 bits hold" {
  printf 'input x 1 1 65536 65536\ny = Relu x\noutput y 1 1 65536 65536\n' >large.model
  make_models --describe large.model large.onnx
  refused 4 "value 'x' of shape 1x1x65536x65536 is too large: C is written for at most 2147418111 elements" large.onnx -o net.c
  printf 'input x 2147483648 0\ny = Relu x\noutput y\n' >large.model
  make_models --describe large.model large.onnx
  refused 4 "value 'x' of shape 2147483648x0 is too large" large.onnx -o net.c
  printf 'input x 1 1 1 1\ny = Conv x w(1,1,1,1) pads=0,2147483647,0,2147483647 strides=1,2147483647\noutput y\n' >large.model
  make_models --describe large.model large.onnx
  refused 4 "node 'y': its windows reach too far" large.onnx -o net.c
}

@test "names of files that C cannot include" {
  for name in 'a"b' "a'b" 'a\b' $'a\nb' $'a\rb' 'a??(b' -; do
    for option in --header --weights-file; do
      refused 2 "and the C names it: expected a file name without quotes" int8.onnx -o net.c $option "$name"
    done
  done
  refused 2 "the header is 'a?b.h', and the C names it" int8.onnx -o $'a\nb.c'
  refused 2 "and the C names it" int8.onnx -o - --header -
  gives 0 dq-cc int8.onnx -o 'a"b.c' --header plain.h
}

@test "weights that are not finite beside padding, whose products the C leaves out" {
  printf 'input x 1 1 1 2\ny = Conv x z pads=0,1,0,1\nz = Reshape f(inf,1) i(1,1,1,2)\noutput y\n' >infinite.model
  make_models --describe infinite.model infinite.onnx
  refused 4 "node 'y': padding and weights that are not finite give NaN, and C leaves padding out" infinite.onnx -o net.c
  sed -i 's/pads=0,1,0,1//' infinite.model
  make_models --describe infinite.model infinite.onnx
  gives 0 dq-cc infinite.onnx -o net.c --verify
  has "Elements that differ: 0"
}
