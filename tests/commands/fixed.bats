# Networks whose inputs fix their batch or have none, and arrays that give sizes which the network leaves open.
load common

setup() {
  own_folder
  make_models --array x.npy 12 3 8 8
}

# model NAME: NAME.onnx by the lines on standard input
model() { cat >"$1.txt" && make_models --describe "$1.txt" "$1.onnx"; }

# Four pictures at a time; nothing in the network depends on that.
convolutions() {
  model "$1" <<LINES
input x $2 3 8 8
a = Conv x w(6,3,3,3) b(6) pads=1,1,1,1
b = Relu a
y = Conv b w(4,6,3,3)
output y $2 4 6 6
LINES
}

# The same with the number of pictures among its constants.
reshaped() {
  model "$1" <<LINES
input x $2 3 8 8
a = Conv x w(6,3,3,3) b(6) pads=1,1,1,1
b = Relu a
c = Reshape b i($2,384)
y = MatMul c w(384,5)
output y $2 5
LINES
}

@test "a fixed batch: every command on data gives what the network with an open batch gives" {
  convolutions fixed 4
  convolutions open -1
  for batch in 1 3; do
    dq-run fixed.onnx --data npy:x.npy --batch $batch -q >fixed.txt
    dq-run open.onnx --data npy:x.npy --batch $batch -q >open.txt
    cmp fixed.txt open.txt
    for line in "int8 -o" "int8 --rounding adaptive -o" "tucker --ratio 0.5 --untimed -o"; do
      gives 0 dq-${line% -o} fixed.onnx --data npy:x.npy --batch $batch -o fixed_out.onnx
      [[ $stderr != *"fixes its batch"* ]]
      local said=$output
      gives 0 dq-${line% -o} open.onnx --data npy:x.npy --batch $batch -o open_out.onnx
      [ "$output" = "$said" ]
      outputs=$(dq-run fixed_out.onnx --data npy:x.npy -q)
      [ "$(dq-run open_out.onnx --data npy:x.npy -q)" = "$outputs" ]
    done
  done
  gives 0 dq-int8 fixed.onnx --data npy:x.npy -o int8.onnx
  gives 0 dq-report int8.onnx --ref fixed.onnx --data npy:x.npy --min-sqnr 20
  gives 0 dq-report fixed.onnx --sensitivity --data npy:x.npy
  gives 0 dq-amp fixed.onnx --check npy:x.npy -o half.onnx
  has "On 12 pictures"
  gives 0 timed dq-mix fixed.onnx --data npy:x.npy --max-drop 50 --time-limit 2s -o mixed.onnx
}

@test "a batch that the network needs: each picture is in all places of it" {
  reshaped fixed 4
  dq-run fixed.onnx --data npy:x.npy -q >four.txt
  [ "$(grep -c '^y: float32 1x5$' four.txt)" -eq 12 ]
  reshaped open 1
  dq-run open.onnx --data npy:x.npy -q >one.txt
  cmp four.txt one.txt
  gives 0 dq-run fixed.onnx --data npy:x.npy --batch 4
  gives 4 dq-run fixed.onnx --data npy:x.npy --batch 3
  has "the network has a fixed batch of 4, expected 3"
  gives 0 dq-int8 fixed.onnx --data npy:x.npy -o int8.onnx
  has "output 'y' has an SQNR of"
  gives 0 dq-report int8.onnx --ref fixed.onnx --data npy:x.npy --min-sqnr 20
}

@test "a fixed batch: C is written for it" {
  if ! command -v cc >/dev/null; then skip "no C compiler"; fi
  convolutions fixed 4
  gives 0 dq-cc fixed.onnx --verify --data npy:x.npy -o net.c
  has "Elements that differ: 0"
}

@test "arrays that hold whole batches" {
  convolutions fixed 4
  make_models --array batches.npy 3 4 3 8 8
  dq-run fixed.onnx --data npy:batches.npy -q >out.txt
  [ "$(grep -c '^y: float32 4x4x6x6$' out.txt)" -eq 3 ]
  gives 0 dq-int8 fixed.onnx --data npy:batches.npy -o int8.onnx
  has " that nothing was fitted to, output 'y' has an SQNR of"
}

@test "no batch: pictures and arrays of all sizes of the input" {
  model whole <<LINES
input x 3 8 8
a = Unsqueeze x i(0)
b = Conv a w(6,3,3,3) b(6) pads=1,1,1,1
c = Relu b
d = GlobalAveragePool c
e = Flatten d
y = MatMul e w(6,8)
output y 1 8
LINES
  dq-run whole.onnx --data npy:x.npy -q >out.txt
  [ "$(grep -c '^y: float32 1x8$' out.txt)" -eq 12 ]
  gives 0 dq-int8 whole.onnx --data npy:x.npy -o int8.onnx
  gives 0 dq-report int8.onnx --ref whole.onnx --data npy:x.npy --min-sqnr 20
  gives 0 dq-int8 whole.onnx --data synth:shapes,count=16,size=8 --preset cifar-raw -o int8.onnx
  has "output 'y' has an SQNR of"
  [[ $stderr != *"fixes its batch"* ]]
}

@test "arrays give the sizes that a network leaves open" {
  model open <<LINES
input x -1 -2 -2
a = Conv x w(6,40,3) b(6)
b = Relu a
c = GlobalAveragePool b
d = Flatten c
y = MatMul d w(6,5)
output y -1 5
LINES
  make_models --array sound.npy 9 40 60
  gives 2 dq-bench open.onnx --runs 1
  gives 0 dq-report open.onnx --data npy:sound.npy
  has "Nx6x58"
  for line in "int8 --data" "amp --check" "tucker --ratio 0.5 --untimed --data" "mix --max-drop 50 --time-limit 1s --data"; do
    gives 0 timed dq-$line npy:sound.npy open.onnx -o out.onnx
    gives 0 dq-run out.onnx --data npy:sound.npy
    [ "$(grep -c '^y: float32 1x5$' <<<"$output")" -eq 9 ]
  done
  gives 0 dq-run open.onnx --data npy:sound.npy --batch 4
  gives 3 dq-run open.onnx --data npy:sound.npy --shape x=N,40,70
  has "the array's shape is 9x40x60, the model wants Nx40x70"
}

@test "a converted file that is larger than its model: one note with the bytes, the weights and the nodes" {
  {
    echo "input x -1 3 8 8"
    echo "a0 = Conv x w(4,3,1,1) b(4)"
    for i in {1..60}; do echo "a$i = Conv a$((i - 1)) w(4,4,1,1) b(4)"; done
    echo "output a60 -1 4 8 8"
  } | model many
  gives 0 dq-int8 many.onnx --data npy:x.npy --all-int8 -o int8.onnx
  local sizes
  sizes=$(stat -c %s int8.onnx many.onnx | awk '{ b[NR] = $1 } END { printf "%.1f KiB in place of %.1f KiB (%.0f %%)", b[1] / 1024, b[2] / 1024, 100 * b[1] / b[2] }')
  [ "$(grep -c 'is larger than its model' <<<"$stderr")" -eq 1 ]
  has "dq-int8: int8.onnx is larger than its model, $sizes: weights take "
  has "nodes in place of 61"
  gives 0 dq-amp many.onnx -o half.onnx
  [[ $stderr != *"is larger"* ]]
}
