# dq-tucker: what it says, what it writes.
load common

@test "a small model" {
  gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx
  has "whole model"
  has "of 3 convolutions decomposed"
  [ "$(wc -l <<<"$stderr")" -eq 1 ] # the warning of the verdict
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
}

@test "a bound that no ranks reach, or only ranks that are not faster" {
  gives 1 dq-tucker "$models/small.onnx" --macs -99.9% -o out.onnx --data "npy:$x"
  has "99.9 % fewer multiply-accumulates wanted, at most "
  share=$(sed -n 's/^hint: --macs -\(.*\)% is possible$/\1/p' <<<"$stderr")
  [ ! -e out.onnx ]
  gives 0 dq-tucker "$models/small.onnx" --macs "-$share%" -o out.onnx --data "npy:$x"
  [[ $output != *"nothing was decomposed"* ]]
}

@test "a share of multiply-accumulates that there are none of, or that are not known" {
  printf 'input x -1 3 8 8\ny = Relu x\noutput y -1 3 8 8\n' >none.model
  make_models --describe none.model none.onnx
  gives 1 dq-tucker none.onnx --macs -25% -o out.onnx
  says "dq-tucker: none.onnx: the model has no multiply-accumulates, and nothing to decompose"
  printf 'input x 1 3 8 8\na = NonZero x\nb = Cast a to=1\nc = Transpose b\ny = MatMul c w(4,5)\noutput y -1 5\n' >values.model
  make_models --describe values.model values.onnx
  gives 4 dq-tucker values.onnx --macs -25% -o out.onnx
  has "node 'y': its multiply-accumulates are not known"
  gives 2 dq-tucker "$models/open_size.onnx" --macs -25% -o out.onnx
  has "--shape images=N,3,224,224"
  [ ! -e out.onnx ]
}

@test "pictures of --eval without labels" {
  gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o out.onnx --eval "npy:$x"
  has "dq-tucker: npy:$x: no labels: the outputs are compared with those of the float network"
  has "On 6 pictures that nothing was fitted to, "
}

@test "full rank computes the same" {
  gives 0 dq-tucker "$models/small.onnx" --ratio 1 --force -o out.onnx
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0.0001
  make_models --array one.npy 1 8 8 8
  for model in shared weight_output node_bias; do
    gives 0 dq-tucker "$models/$model.onnx" --ratio 1 --force -o out.onnx
    outputs "$models/$model.onnx" a one.npy
    outputs out.onnx b one.npy
    near b/y.npy a/y.npy 0.0001
  done
}

@test "rules that are needed, exclude each other, are out of range" {
  gives 2 dq-tucker "$models/small.onnx" -o out.onnx
  has "give one of '--ratio', '--energy', '--macs'"
  gives 2 dq-tucker "$models/small.onnx" -o out.onnx --ratio 0.5 --energy 0.9
  has "options '--ratio' and '--energy' exclude each other"
  for value in 0 1.5 -1; do
    gives 2 dq-tucker "$models/small.onnx" -o out.onnx --ratio $value
    says "dq-tucker: option '--ratio': '$value' is out of range, allowed is over 0 to 1"
  done
  gives 2 dq-tucker "$models/small.onnx" -o out.onnx --ratio nan
  says "dq-tucker: option '--ratio': 'nan' is not a number, allowed is over 0 to 1"
  gives 2 dq-tucker "$models/small.onnx" -o out.onnx --energy -1
  says "dq-tucker: option '--energy': '-1' is out of range, allowed is over 0 to 1"
  only
}

@test "models without a convolution to decompose" {
  convert int8 "$models/small.onnx" int8.onnx >/dev/null
  convert amp "$models/small.onnx" half.onnx >/dev/null
  for model in "$models/tiny.onnx" "$models/half.onnx" "$models/double.onnx" "$models/qoperator.onnx" int8.onnx; do
    gives 0 dq-tucker "$model" --ratio 0.5 -o out.onnx
    has "dq-tucker: warning: nothing was decomposed, the file is the model as it was: "
  done
  gives 0 dq-tucker int8.onnx --ratio 0.5 -o out.onnx
  has "weight is quantized already"
}

@test "weights with NaN" {
  gives 3 dq-tucker "$models/nan_weight.onnx" --ratio 0.5 -o out.onnx
  says "dq-tucker: $models/nan_weight.onnx: initializer 'conv2.weight': element 5 is nan, expected finite"
  only
}

@test "a verdict: on noise, on pictures, and conditions on it" {
  half=("$models/small.onnx" --ratio 0.5 --untimed)
  gives 0 dq-tucker "${half[@]}" -o noise.onnx
  has "dq-tucker: warning: much is lost. On 2 samples of noise output 'y' has an SQNR of"
  has "Decompose with larger ranks, fit the factors to pictures with --data, or retrain with --retrain."
  gives 0 dq-tucker "${half[@]}" -o a.onnx --data "npy:$x"
  has "On 1 picture that nothing was fitted to, output 'y' has an SQNR of"
  gives 0 dq-tucker "${half[@]}" -o few.onnx --data "npy:$x" --limit 3
  has "On 3 pictures that the conversion was fitted to, output 'y' has an SQNR of"
  gives 0 dq-tucker "${half[@]}" -o b.onnx --data "npy:$x" --plain
  has "On 6 pictures that nothing was fitted to, output 'y' has an SQNR of"
  grep -qE "^y +[-0-9.]+ +([-0-9.]+ +[-0-9.]+ +)?maxima +[0-9.]+ % +([0-9.]+ % +[0-9.]+ % +)?6$" <<<"$output"
  gives 1 dq-tucker "${half[@]}" -o again.onnx --min-sqnr 90
  has "dq-tucker: again.onnx: output 'y' has an SQNR of"
  cmp noise.onnx again.onnx
  gives 1 dq-tucker "${half[@]}" -o again.onnx --min-agreement 100
  has " % of its maxima, less than 100 % (--min-agreement)"
  gives 0 dq-tucker "$models/small.onnx" --ratio 1 --force --untimed -o full.onnx --min-sqnr 90 --min-agreement 100
  gives 0 dq-tucker "$models/tiny.onnx" --ratio 0.5 --untimed -o none.onnx --min-sqnr 90
  run -1 grep -q "^Outputs against" <<<"$output"
}

# Patches of 576 elements, of which a picture has four: what was fitted to some pictures has to hold on others, and the
# figure of the verdict has to be near that of many others.
@test "few pictures of small planes" {
  cat >small_planes.model <<'END'
input x -1 3 16 16
a = Conv x w(24,3,3,3) b(24) pads=1,1,1,1 strides=2,2
b = Relu a
c = Conv b w(48,24,3,3) b(48) pads=1,1,1,1 strides=2,2
d = Relu c
e = Conv d w(64,48,3,3) b(64) pads=1,1,1,1 strides=2,2
f = Relu e
g = Conv f w(64,64,3,3) b(64) pads=1,1,1,1
h = Relu g
i = Conv h w(64,64,3,3) b(64) pads=1,1,1,1
j = Relu i
k = GlobalAveragePool j
l = Flatten k axis=1
z = Gemm l w(64,10) b(10)
output z -1 10
END
  make_models --describe small_planes.model small_planes.onnx
  pictures=synth:shapes,size=16
  gives 0 dq-tucker small_planes.onnx --macs -25% --untimed --data "$pictures,split=calib,count=32" --preset raw01 --task none -o o.onnx
  said=$(sed -n "s/^On 8 pictures that nothing was fitted to, output 'z' has an SQNR of \([0-9.]*\) dB.*/\1/p" <<<"$output")
  gives 0 dq-report o.onnx --ref small_planes.onnx --data "$pictures,split=train,count=200" --preset raw01 --task none --min-sqnr 45
  found=$(sed -n 's/^z  *\([0-9.]*\) .* classes .* 200$/\1/p' <<<"$output")
  awk -v said="$said" -v found="$found" 'BEGIN { exit !(said - found < 4 && found - said < 4) }'
}

# The second input channel is 0 in one of two pictures and 5 in the other one: rank 1 leaves it out, and neither picture
# tells what the other one needs.
@test "a layer whose fit says nothing on other pictures stays as it is" {
  command -v python3 >/dev/null || skip "no python3 to write an array with"
  printf 'input x -1 2 8 8\na = Conv x w(6,2,3,3) b(6)\ny = Relu a\noutput y -1 6 6 6\n' >two.model
  make_models --describe two.model two.onnx
  make_models --array turns.npy 2 2 8 8
  python3 - <<'END'
import struct
data = bytearray(open('turns.npy', 'rb').read())
plane = 8 * 8 * 4
start = len(data) - 4 * plane
for picture in range(2):
    at = start + (2 * picture + 1) * plane
    data[at:at + plane] = struct.pack('<f', 5.0 * picture) * 64
open('turns.npy', 'wb').write(data)
END
  half=(two.onnx --untimed --data npy:turns.npy --eval npy:turns.npy)
  gives 0 dq-tucker "${half[@]}" --ratio 0.5 -o o.onnx
  [[ $output =~ "misses "[1-9][0-9]{3}" % of the responses on other pictures" ]]
  has "0 of 1 convolutions decomposed"
  cmp two.onnx o.onnx
  gives 0 dq-tucker "${half[@]}" --macs -50% -o o.onnx
  has "dq-tucker: warning: the bound is not reached, as 1 layer is left alone that could not be fitted"
  gives 0 dq-tucker "${half[@]}" --ratio 0.5 --force -o o.onnx
  has "dq-tucker: warning: layer 'a' misses "
  has "1 of 1 convolutions decomposed"
}

@test "the same bytes everywhere" { same_bytes tucker; }
@test "outputs that cannot be written" { unwritable tucker; }

@test "ranks above the noise" {
  gives 0 dq-tucker "$models/small.onnx" --vbmf --weaken 0.5 --untimed -o out.onnx
  has "whole model"
  gives 0 dq-tucker "$models/small.onnx" --vbmf --untimed -o out.onnx
  has "vbmf keeps at most 1 of rank"
  gives 2 dq-tucker "$models/small.onnx" --ratio 0.5 --weaken 0.5 -o out2.onnx
  gives 2 dq-tucker "$models/small.onnx" --vbmf --weaken 1.5 -o out2.onnx
}

@test "on data: the same bytes with any threads, and again from the ranks" {
  for threads in 1 2 3; do
    gives 0 dq-tucker "$models/small.onnx" --macs -30% --untimed --data "npy:$x" --threads $threads -o "$threads.onnx" --save-ranks "$threads.json"
    has "Response error"
    cmp 1.onnx "$threads.onnx"
    cmp 1.json "$threads.json"
  done
  for mask in c avx2; do
    gives 0 dq-tucker "$models/small.onnx" --macs -30% --untimed --data "npy:$x" --cpu-mask $mask -o mask.onnx
    cmp 1.onnx mask.onnx
  done
  gives 0 dq-tucker "$models/small.onnx" --ranks 1.json --data "npy:$x" -o again.onnx
  cmp 1.onnx again.onnx
  gives 0 dq-tucker "$models/small.onnx" --ranks 1.json -o weights.onnx
  run -1 cmp -s 1.onnx weights.onnx
}

@test "on data: what cannot be fitted, what does not fit" {
  make_models --array one.npy 1 8 8 8
  gives 0 dq-tucker "$models/node_bias.onnx" --ratio 0.5 --data npy:one.npy -o out.onnx
  has "bias is not constant"
  gives 0 dq-tucker "$models/shared.onnx" --ratio 0.5 --untimed --data npy:one.npy -o out.onnx
  has "2 of 2 convolutions decomposed"
  gives 0 dq-tucker "$models/tiny.onnx" --ratio 0.5 --data npy:one.npy -o out.onnx
  has "warning: nothing was decomposed"
  rm out.onnx
  gives 3 dq-tucker "$models/small.onnx" --ratio 0.5 --data npy:one.npy -o out.onnx
  gives 5 dq-tucker "$models/small.onnx" --ratio 0.5 --data npy:missing.npy -o out.onnx
  only one.npy
}

@test "what the clock decided is replayed" {
  for extra in "" "--data=npy:$x"; do
    gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 -o clock.onnx $extra
    only clock.onnx clock.onnx.ranks "${kept[@]}"
    gives 0 dq-tucker "$models/small.onnx" --ranks clock.onnx.ranks -o again.onnx $extra
    cmp clock.onnx again.onnx
    rm again.onnx
  done
  rm clock.onnx.ranks
  gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 -o clock.onnx --save-ranks ranks.json
  only clock.onnx ranks.json
  gives 2 dq-tucker "$models/small.onnx" --ratio 0.5 -o -
  has "measured times decide the ranks, which must be saved: give --save-ranks FILE"
  gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 --untimed -o untimed.onnx
  only clock.onnx ranks.json untimed.onnx
  echo '{"schema": "dq-ranks", "version": 1, "layers": {}}' >none.json
  gives 0 dq-tucker "$models/small.onnx" --ranks none.json -o out.onnx
  has "nothing was decomposed"
  echo '{"schema": "dq-ranks", "version": 1}' >none.json
  gives 3 dq-tucker "$models/small.onnx" --ranks none.json -o out.onnx
  has "none.json: 'layers' is no object, expected the ranks of each layer by its name"
}

@test "bounds on networks of the shapes of VGG-16, ResNet-152, Inception V3 and RegNetY-32GF" {
  gives 0 "$root/tests/networks" "$build" 4
  [ "$(grep -c '^ok' <<<"$output")" -eq 4 ]
  gives 2 make_networks vgg17 4 out.onnx
}

@test "a model remembers how pictures became its input, unless that belongs to the data alone" {
  printf 'P6\n8 8\n255\n%s' "$(printf 'M%.0s' {1..192})" >the_1.ppm
  printf '%s\n' patient,p10,p99,mean_r,mean_g,mean_b,std_r,std_g,std_b the,0,255,0,0,0,1,1,1 >norm.csv
  echo "the_1.ppm 0" >list.txt
  local line
  for line in "dq-tucker --ratio 0.5 --untimed" dq-int8; do
    line="$line $models/small.onnx -o out.onnx"
    gives 0 $line --data list.txt --preset raw01
    grep -q '"preset":"raw01"' out.onnx
    gives 0 $line --data list.txt --preset lgg --preprocess norm=norm.csv
    run -1 grep -q '"preset"' out.onnx
    gives 0 $line --data "npy:$x" # not pictures
    run -1 grep -q '"preset"' out.onnx
  done
}

@test "factors are fitted to the first pictures, and trained on all" {
  local words=("$root/datasets/shapes.onnx" --ratio 0.5 --untimed -q --data)
  gives 0 dq-tucker "${words[@]}" synth:shapes,split=calib,count=8 --eval synth:shapes,count=4 -o few.onnx
  gives 0 dq-tucker "${words[@]}" synth:shapes,split=calib,count=64 --fit-limit 8 -o first.onnx
  has "On 56 pictures that nothing was fitted to, output 'scores' has"
  cmp few.onnx first.onnx
  gives 0 dq-tucker "${words[@]}" synth:shapes,split=calib,count=64 --fit-limit 100 -o all.onnx
  run -1 cmp few.onnx all.onnx
  gives 0 dq-tucker "${words[@]}" synth:shapes,split=calib,count=64 --fit-limit 8 -o trained.onnx --retrain builtin,epochs=2
  gives 0 dq-train first.onnx --teacher "$root/datasets/shapes.onnx" --data synth:shapes,split=calib,count=64 \
    --val synth:shapes,split=calib,count=64 --batch 32 --epochs 2 --optimizer adam --lr 0.0003 -q -o by-hand.onnx
  gives 0 dq-report trained.onnx --ref by-hand.onnx --data synth:shapes,count=32 --min-sqnr 200 -q
}

@test "ranks by the noise of outputs in float16" {
  dq-amp "$models/small.onnx" --half-io -o half.onnx -q >/dev/null
  gives 0 dq-tucker half.onnx --macs -20% --untimed --data synth:shapes,size=8,count=16 -o out.onnx
  has "On 4 pictures that nothing was fitted to, output 'y' has an SQNR of "
}

@test "as little work as the quality allows" {
  shapes="$root/datasets/shapes.onnx" fit=(--data "synth:shapes,split=calib,count=8" --eval "synth:shapes,count=40" --untimed)
  gives 0 dq-tucker "$models/small.onnx" --ratio 0.5 --data "synth:shapes,count=4,size=8" --preset raw01 --untimed -o out.onnx
  gives 0 dq-int8 out.onnx --data "synth:shapes,count=4,size=8" -o int8.onnx --all-int8 # no preset needed
  has "as the model remembers"
  rm int8.onnx out.onnx
  gives 0 dq-tucker "$shapes" --max-drop 3 "${fit[@]}" -o out.onnx --save-ranks ranks.json
  has "the best so far"
  has "fewer multiply-accumulates cost"
  only out.onnx ranks.json
  gives 0 dq-tucker "$shapes" --ranks ranks.json --data "synth:shapes,split=calib,count=8" -o again.onnx
  cmp out.onnx again.onnx
  gives 0 dq-tucker "$shapes" --max-drop 3 "${fit[@]}" -o late.onnx --time-limit 0.01s
  has "the time limit ended the search after 0 trials; --resume continues it" # in the middle of the first one
  has "0 of 0 convolutions decomposed; parameters +0.0 %"
  gives 0 dq-tucker "$shapes" --max-drop 3 "${fit[@]}" -o late.onnx --resume
  cmp out.onnx late.onnx
  only again.onnx late.onnx out.onnx ranks.json
  echo '{"schema": "dq-tucker-search", "version": 1, "key": "x", "trials": []}' >none.onnx.search
  gives 3 dq-tucker "$shapes" --max-drop 3 "${fit[@]}" -o none.onnx --resume
  has "the search was for another model, data or options"
  gives 2 dq-tucker "$shapes" --max-drop 3 -o x.onnx
  gives 2 dq-tucker "$shapes" --ratio 0.5 --resume -o x.onnx
  gives 2 dq-tucker "$shapes" --max-drop 3 "${fit[@]}" -o -
  gives 2 dq-tucker "$models/small.onnx" --max-drop 3 --data "npy:$x" -o x.onnx
  has "--max-drop needs labelled pictures"
}

@test "the pipeline of the guide over a folder of models" {
  mkdir models
  cp "$root/datasets/shapes.onnx" models
  LIMIT=8 EVAL_LIMIT=40 gives 0 "$root/docs/guide/pipeline.sh" models out "synth:shapes,split=calib" synth:shapes
  for result in half tucker int8 tucker-int8; do [ -s "out/shapes-$result.onnx" ]; done
  [ "$(wc -l <out/table.csv)" -ge 6 ]
  echo rubbish >models/bad.onnx
  LIMIT=8 EVAL_LIMIT=40 gives 1 "$root/docs/guide/pipeline.sh" models out "synth:shapes,split=calib" synth:shapes
  has "bad: dq-report failed with status 3"
  [ -s out/table.csv ]
  gives 2 "$root/docs/guide/pipeline.sh" models
}

@test "matrices too" {
  gives 0 dq-tucker "$models/small.onnx" --gemm --ratio 1 --force -o out.onnx --save-ranks ranks.json
  has "3 of 4 layers decomposed"
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0.0001
  gives 0 dq-tucker "$models/small.onnx" --gemm --ratio 0.5 --untimed -o out.onnx --save-ranks ranks.json
  gives 0 dq-tucker "$models/small.onnx" --gemm --ranks ranks.json -o again.onnx
  cmp out.onnx again.onnx
  gives 0 dq-tucker "$models/small.onnx" --gemm --macs -30% --save-ranks ranks.json -o out.onnx
  gives 0 dq-tucker "$models/small.onnx" --gemm --ratio 1 --force --data "npy:$x" -o out.onnx
  has "3 of 4 layers decomposed"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0.0001
}
