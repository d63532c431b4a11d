# What holds for every command: help, versions, wrong command lines, broken models.
load common

@test "help and version" {
  for verb in $verbs; do
    gives 0 dq-$verb --version
    [ "$output" = "dq-$verb $(dq --version | cut -d' ' -f2-)" ]
    says ""
    gives 0 dq-$verb --help
    [[ $output == *"usage: dq-$verb "* || $output == *"Usage: dq-$verb "* ]]
    says ""
    [ "$output" = "$(dq $verb --help)" ]
    [ "$output" = "$(dq help $verb)" ]
    gives 0 dq-$verb --help-check
    gives 0 dq-$verb --help-man
    [[ $output == .* ]]
  done
}

@test "dq without a verb, with an unknown one" {
  gives 2 dq
  says "dq: no VERB given
hint: usage: dq VERB [arguments] | help [VERB]"
  local arguments
  for arguments in bogus "bogus --version" "bogus --help more"; do
    gives 2 dq $arguments
    says "dq: unknown command 'bogus'
hint: 'dq help' lists the commands"
  done
}

@test "the name the program is started under is the command" {
  mkdir away
  ln -s "$build/dq" away/dq-run
  ln -s "$build/dq" away/other-name
  gives 0 away/dq-run --version
  [ "$output" = "$(dq-run --version)" ]
  gives 0 away/other-name run --version
  [ "$output" = "$(dq-run --version)" ]
  gives 2 away/other-name
  has "dq: no VERB given"
}

@test "a verb takes all arguments behind it" {
  dq-report "$models/small.onnx" --csv a.csv >a.txt
  dq report "$models/small.onnx" --csv b.csv >b.txt
  cmp a.txt b.txt
  cmp a.csv b.csv
}

@test "a program dq-VERB in PATH is a verb" {
  mkdir more
  printf '#!/bin/sh\necho "$0: $*"\nexit 7\n' >more/dq-hello
  chmod +x more/dq-hello
  PATH=$PWD/more:$PATH
  gives 7 dq hello --some thing
  [ "$output" = "$PWD/more/dq-hello: --some thing" ]
  gives 7 dq help hello
  [ "$output" = "$PWD/more/dq-hello: --help" ]
  gives 2 dq ./more/dq-hello
}

@test "wrong command lines" {
  for verb in $verbs; do
    gives 2 dq-$verb
    gives 2 dq-$verb m.onnx --bogus
    says "dq-$verb: unknown option '--bogus'
hint: see 'dq-$verb --help'"
    gives 2 dq-$verb m.onnx --thread-s 3
    has "did you mean '--threads'"
    gives 2 dq-$verb m.onnx --threads
    says "dq-$verb: option '--threads' needs a value: N"
    for count in 0 -3 99999; do
      gives 2 dq-$verb m.onnx --threads $count
      says "dq-$verb: option '--threads': '$count' is out of range, allowed is 1 to 1024"
    done
    gives 2 dq-$verb m.onnx --threads 2 --threads 3
    says "dq-$verb: option '--threads' is given twice"
    gives 2 dq-$verb m.onnx --cpu-mask mmx $([[ $verb != @(amp|cc|int8|mix|train|tucker) ]] || echo -o out.onnx) \
      $([[ $verb != mix ]] || echo --max-drop 1) $([[ $verb != @(int8|mix|train) ]] || echo --data x) $([[ $verb != train ]] || echo --val x) $([[ $verb != tucker ]] || echo --ratio 1)
    has "option '--cpu-mask': unknown instruction set 'mmx'"
    only
  done
  for verb in amp tucker; do
    gives 2 dq-$verb a.onnx b.onnx -o c
    has "dq-$verb: unexpected argument 'b.onnx'"
  done
}

# A command that reads MODEL, with the words it needs besides.
read_model() {
  case $1 in
  run) dq-run "$2" --input "$x" ;;
  bench) dq-bench "$2" --runs 2 --warmup 1 ;;
  amp | int8 | tucker) convert "$1" "$2" out.onnx ;;
  cc) dq-cc "$2" -o out.c ;;
  mix) dq-mix "$2" --data "npy:$x" --max-drop 1 -o out.onnx ;;
  multi) dq-multi "$2" --duration 10ms ;;
  train) dq-train "$2" --data "npy:$x" --val "npy:$x" -o out.onnx ;;
  *) "dq-$1" "$2" ;;
  esac
}

@test "models that cannot be read" {
  mkdir folder
  : >empty.onnx
  printf '\xff\xd8\xff\xe0 JFIF' >photo.onnx
  printf 'PK\003\004 archive' >torch.onnx
  printf '\034\0\0\0TFL3' >lite.onnx
  printf '\x89HDF\r\n\x1a\n' >keras.h5
  echo "just some words" >words.onnx
  head -c 100 "$models/small.onnx" >short.onnx
  for verb in $verbs; do
    gives 5 read_model $verb missing.onnx
    says "dq-$verb: missing.onnx: No such file or directory"
    gives 5 read_model $verb folder
    says "dq-$verb: folder: is a folder, expected a file"
    gives 3 read_model $verb empty.onnx
    says "dq-$verb: empty.onnx: empty file"
    gives 3 read_model $verb photo.onnx
    says "dq-$verb: photo.onnx: not an ONNX model but a JPEG picture"
    gives 3 read_model $verb torch.onnx
    says "dq-$verb: torch.onnx: not an ONNX model but a zip archive (PyTorch or Keras)"
    gives 3 read_model $verb lite.onnx
    says "dq-$verb: lite.onnx: not an ONNX model but a TFLite model"
    gives 3 read_model $verb keras.h5
    says "dq-$verb: keras.h5: not an ONNX model but an HDF5 file (Keras)"
    gives 3 read_model $verb words.onnx
    says "dq-$verb: words.onnx: not an ONNX model but text"
    gives 3 read_model $verb short.onnx
    has "dq-$verb: short.onnx: not a valid ONNX model: "
    gives 3 read_model $verb /dev/null
    says "dq-$verb: /dev/null: empty file"
  done
  for verb in $verbs; do
    for count in 20 100 4000; do
      gives 5 read_model $verb - < <(head -c $count "$models/small.onnx")
      says "dq-$verb: -: the pipe was closed after $count bytes, in the middle of the model"
    done
    gives 5 read_model $verb <(head -c 100 "$models/small.onnx")
    has ": the pipe was closed after 100 bytes, in the middle of the model"
    gives 3 read_model $verb - < <(printf '\010\007\013\377')
    has "not a valid ONNX model"
    gives 3 read_model $verb - </dev/null
    says "dq-$verb: -: empty file"
  done
}

@test "models that are wrong" {
  while IFS='|' read -r model expected words; do
    for verb in amp int8 tucker report bench; do
      gives "$expected" read_model $verb "$models/$model.onnx"
      says "dq-$verb: $models/$model.onnx: $words"
    done
  done <<'ROWS'
opset_6|4|opset 6, supported are 7 to 28
opset_99|4|opset 99, supported are 7 to 28
ir_99|4|IR version 99, supported are 3 to 14
cycle|3|node 'add' is part of a cycle or depends on one
nobody_produces|3|node 'add': input 'ghost' is not produced by anything
bad_group|3|node 'conv1': 2 groups do not divide 3 input channels
zero_stride|3|node 'conv1': attribute 'strides' holds 0, expected 1 to 2147483647
wrong_attribute|3|node 'relu': attribute 'alpha' is of type int, expected float
too_many_inputs|3|node 'relu': 2 inputs, expected 1
large_kernel|3|node 'conv1': the kernel covers 7, more than the 4 elements of the padded input along spatial axis 0
ROWS
  only
}

@test "sizes that are not known" {
  gives 2 dq-bench "$models/unknown_size.onnx" --runs 1
  has "hint: give it, for example with --shape x=1,3,224,224"
  gives 0 convert int8 "$models/unknown_size.onnx" out.onnx # at the sizes of the array
  rm out.onnx
  gives 0 convert int8 "$models/unknown_size.onnx" out.onnx --shape x=1,3,8,8
  gives 0 convert amp "$models/unknown_size.onnx" amp.onnx
  gives 0 convert tucker "$models/unknown_size.onnx" tucker.onnx
  gives 0 dq-report "$models/unknown_size.onnx"
  outputs amp.onnx a "$x"
  outputs "$models/unknown_size.onnx" b "$x"
  near a/y.npy b/y.npy 0.002
  gives 2 dq-tucker "$models/unknown_size.onnx" --macs -50% -o macs.onnx -q
  has "hint: give it, for example with --shape x=N,3,224,224"
  for verb in amp run report int8; do gives 0 read_model $verb "$models/open_channels.onnx"; done
  gives 2 read_model bench "$models/open_channels.onnx"
  has "input 'x': dimension 1 ('N') is not known
hint: give it, for example with --shape x=1,3,8,8"
  gives 0 convert amp "$models/open_channels.onnx" open.onnx --shape x=1,3,8,8
}

@test "devices and pipes are written to, never replaced" {
  gives 0 convert amp "$models/small.onnx" /dev/null
  [ -c /dev/null ]
  convert amp "$models/small.onnx" a.onnx -q >/dev/null
  mkfifo pipe
  cat pipe >b.onnx &
  gives 0 convert amp "$models/small.onnx" pipe
  wait
  cmp a.onnx b.onnx
}

# array NAME TYPE BYTES: an array of two elements, made by hand
array() {
  printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': (2,), }" >"$1.npy"
  printf "$3" >>"$1.npy"
}

@test "near, which these tests compare arrays with, fails as it must" {
  array ones '<f4' '\0\0\200\77\0\0\200\77'
  array other '<f4' '\0\0\200\77\0\0\300\77' # 1, 1.5
  array zeros '<f4' '\0\0\0\0\0\0\0\0'
  array nan '<f4' '\0\0\200\77\0\0\300\177'
  array infinity '<f4' '\0\0\200\77\0\0\200\177'
  array bytes '|u1' '\1\1'
  make_models --array three.npy 3
  near ones.npy ones.npy 0
  near other.npy ones.npy 0.5
  run -1 near other.npy ones.npy 0.49
  run -1 near nan.npy ones.npy 1
  run -1 near infinity.npy ones.npy 1
  run -1 near zeros.npy ones.npy 0.5
  for wrong in "missing.npy ones.npy" "ones.npy missing.npy" "three.npy ones.npy" "bytes.npy ones.npy" "ones.npy bytes.npy" \
    "ones.npy nan.npy" "nan.npy nan.npy" "ones.npy infinity.npy" "ones.npy zeros.npy" "zeros.npy zeros.npy" "ones.npy three.npy"; do
    run -2 near $wrong 1
    [[ $output == *"cannot be compared: "* ]]
  done
  for share in "" x nan -1 1x; do run -2 near ones.npy ones.npy "$share"; done
}
