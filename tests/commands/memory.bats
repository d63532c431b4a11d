# --memory bounds what a command holds at once, whatever its files ask for.
load common
load pictures

# held MB STATUS COMMAND...: the command ends so, holding no more than MB and a tenth beside a fixed 40 MB
held() {
  local most=$1 peak
  shift
  gives "$1" timeout 60 make_models --peak peak "${@:2}" --memory "${most}M"
  peak=$(cat peak)
  rm peak
  sanitized && return # whose own memory counts
  [ "$peak" -le $((most + most / 10 + 40)) ] && return
  echo "${*:2}: $peak MB where $most were allowed"
  return 1
}

# bmp FILE WIDTH HEIGHT BYTES: 24 bits a pixel; of the pixels so many bytes are there
bmp() {
  local byte=""
  for number in 0 0 54 40 "$2" "$3"; do
    for shift in 0 8 16 24; do byte+=$(printf '\\x%02x' $((number >> shift & 255))); done
  done
  byte+='\x01\x00\x18\x00'
  printf "BM$byte" >"$1"
  head -c $((24 + $4)) /dev/zero >>"$1"
}

@test "pictures that need more than they may" {
  pictures 2
  bmp topdown.bmp 3000 -3000 $((3000 * 3000 * 3))
  echo "topdown.bmp 1" >>list.txt
  held 50 0 dq-run "$models/small.onnx" --data list.txt --preset vww
  has "skipped: topdown.bmp: a picture of 3000x3000 pixels needs 108000000 bytes to decode"
  held 50 3 dq-run "$models/small.onnx" --data list.txt --preset vww --strict
  held 200 0 dq-run "$models/small.onnx" --data list.txt --preset vww --strict
}

@test "pictures whose pixels are not there" {
  pictures 2
  bmp none.bmp 3000 -3000 0
  printf 'P6\n8 8\n255\nabc' >short.ppm
  for name in none.bmp short.ppm; do
    cp list.txt more.txt
    echo "$name 1" >>more.txt
    held 50 0 dq-run "$models/small.onnx" --data more.txt --preset vww
    has "skipped: $name: the picture is cut off"
    gives 3 dq-run "$models/small.onnx" --data more.txt --preset vww --strict
    has "$name: the picture is cut off"
  done
}

@test "streams without an end" {
  pictures 2
  for verb in run report bench; do
    held 50 5 dq-$verb /dev/zero
    has "dq-$verb: /dev/zero: out of memory after "
    held 50 5 bash -c '"$@" </dev/zero' - dq-$verb -
    has "standard input: out of memory after "
  done
  held 50 3 dq-run "$models/small.onnx" --data /dev/zero --preset vww
  has "/dev/zero: a pipe or a device, expected a regular file"
  held 50 5 dq-run "$models/small.onnx" --input x=/dev/zero
  has "/dev/zero: out of memory after "
  gives 5 dq-amp "$models/small.onnx" -o o.onnx --policy /dev/zero
  has "/dev/zero: more than 64 MiB, expected a shorter stream"
  echo "/dev/zero 1" >>list.txt
  held 50 3 dq-run "$models/small.onnx" --data list.txt --preset vww
  has "list.txt: line 3: no picture '/dev/zero'"
}

@test "pipes that nobody writes into" {
  pictures 2
  mkfifo silent.png silent
  gives 3 timeout 20 dq-run "$models/small.onnx" --data silent --preset vww
  has "silent: a pipe or a device, expected a regular file"
  gives 3 timeout 20 dq-run "$models/small.onnx" --data npy:silent
  gives 0 timeout 20 dq-run "$models/small.onnx" --data . --preset vww
  has "skipped: silent.png: a pipe or a device, expected a regular file"
  echo "silent.png 1" >>list.txt
  gives 3 timeout 20 dq-run "$models/small.onnx" --data list.txt --preset vww
  has "line 3: no picture 'silent.png'"
}

@test "a model from a pipe counts" {
  gives 0 bash -c 'cat "$1" | dq-report - --memory 50M' - "$models/small.onnx"
  gives 5 bash -c '{ cat "$1" && head -c 80M /dev/zero; } | dq-report - --memory 50M' - "$models/small.onnx"
  has "hint: a regular file is mapped instead"
}

@test "control characters of names stay off the terminal" {
  pictures 1
  cp p0.ppm "$(printf 'a\033[31mb.ppm')"
  gives 0 dq-run "$models/small.onnx" --data . --preset vww
  has "a?[31mb.ppm"
  [[ $output != *$'\033'* ]]
}

# Version 2, whose header of 57 bytes leaves int64 elements at byte 69; sanitizers see the reads.
@test "labels at an odd place of the file" {
  local header="{'descr': '<i8', 'fortran_order': False, 'shape': (6,), }"
  printf "\\x93NUMPY\\x02\\0\\x$(printf %02x ${#header})\\0\\0\\0$header" >labels.npy
  for label in 1 2 3 1 2 3; do printf "\\x0$label\\0\\0\\0\\0\\0\\0\\0" >>labels.npy; done
  gives 0 dq-run "$models/small.onnx" --data "npy:$x,labels.npy"
  has "(label 3)"
}
