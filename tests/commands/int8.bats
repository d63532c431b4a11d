# dq-int8: what it says, what it writes, the data it refuses.
load common

@test "--overflow shows the audit of every layer, files always have it" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --overflow --json with.json
  [[ ${lines[0]} == *" SQNR (dB)  Observed bits  proven  Clamped "*" Pairs saturated  Pair saturation "*"  32-bit sums" ]]
  has "cannot overflow"
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --json without.json
  [[ $output != *"cannot overflow"* ]]
  cmp with.json without.json
}

@test "layers are checked on 8 pictures for text, on 32 with --overflow and for files; the model is the same" {
  make_models --array many.npy 40 3 8 8
  gives 0 dq-int8 "$models/small.onnx" --data npy:many.npy -o text.onnx
  has "Checked on:              8 pictures"
  gives 0 dq-int8 "$models/small.onnx" --data npy:many.npy -o overflow.onnx --overflow
  [[ $output =~ "Checked on: "\ +"32 pictures" ]]
  gives 0 dq-int8 "$models/small.onnx" --data npy:many.npy -o file.onnx --json facts.json
  grep -q '"checked": 32' facts.json
  cmp text.onnx overflow.onnx
  cmp text.onnx file.onnx
}

@test "a small model" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx
  [[ ${lines[0]} =~ ^"Layer      Operator           int8 ".*" Scale  Zero  Weight scale ".*" to  SQNR (dB)"$ ]]
  has "Layers audited:          "
  has "Operators:               8
Quantized:               8
Activations with scales: 6
MACs in float:           0.00 %
Weights in float:        0.00 %
Pictures:                6"
  says ""
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
  outputs out.onnx c "$x" --plain
  near b/y.npy a/y.npy 0.05
  near b/y.npy c/y.npy 0.02
}

@test "an input on levels of its own stands for nothing of the source" {
  convert_shapes() { dq-int8 "$root/datasets/shapes.onnx" --data synth:shapes,split=calib,count=8 -o out.onnx -q "$@" >/dev/null; }
  convert_shapes --preprocess mean=0.5:0.25:0.125,std=0.5:1.5:2,scale=0.00390625
  grep -aq '"values":{"image_levels[_0-9]*":null,' out.onnx
  convert_shapes # bytes are their own levels
  grep -aq '"image_DequantizeLinear_Output":"image"' out.onnx
  run -1 grep -aqE '"image(_levels[_0-9]*)?":null' out.onnx
}

@test "choices" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --exclude 'conv2' --method minmax --per-tensor \
    --activations s8 --symmetric
  has "Quantized:               6"
  [[ $output == *"conv2      Conv               no "*" excluded"* ]]
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0.1
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --method mimax
  says "dq-int8: option '--method': 'mimax' is not one of minmax, ema, percentile, entropy, mse, auto
hint: did you mean 'minmax'?"
  gives 2 dq-int8 "$models/small.onnx" -o out.onnx
  has "one of '--data' and '--use-table' is needed"
}

@test "facts for programs" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --json - --csv layers.csv --html page.html
  has '"schema": "dq-int8"'
  has '"quantized": 8'
  [ "$(head -n 1 layers.csv | tr -d '\r')" = "layer,op,quantized,low,high,scale,zero_point,weight_scale_low,weight_scale_high,sqnr,bits,proven_bits,clamped,pair,pairs,int32,block16,reason" ]
  [ "$(wc -l <layers.csv)" -eq 9 ]
  grep -q "</html>" page.html
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" -o - --json -
  [ -z "$output" ]
  says "dq-int8: only one of --json and --output can be '-'"
}

@test "quantized already, or nothing to quantize" {
  convert int8 "$models/small.onnx" int8.onnx >/dev/null
  for model in int8.onnx "$models/qoperator.onnx"; do
    gives 0 dq-int8 "$model" --data "npy:$x" -o out.onnx
    has "Quantized:               0"
    says "dq-int8: $model: nothing to do, the model is quantized already"
  done
  gives 0 dq-int8 "$models/double.onnx" --data "npy:$x" -o out.onnx
  says "dq-int8: $models/double.onnx: nothing to do, no operator can be quantized"
}

@test "weights that are shared, outputs, given by nodes, or not finite" {
  make_models --array one.npy 1 8 8 8
  for model in shared weight_output node_bias; do
    gives 0 dq-int8 "$models/$model.onnx" --data "npy:$maps" -o out.onnx
    outputs "$models/$model.onnx" a one.npy
    outputs out.onnx b one.npy
    near b/y.npy a/y.npy 0.05
  done
  gives 3 dq-int8 "$models/nan_weight.onnx" --data "npy:$x" -o nan.onnx
  says "dq-int8: $models/nan_weight.onnx: tensor 'conv2.weight': element 5 is NaN"
  [ ! -e nan.onnx ]
}

refuses_data() { # STATUS SPEC WORDS [OPTION...]
  gives "$1" dq-int8 "$models/small.onnx" --data "$2" -o out.onnx "${@:4}"
  has "$3"
  [ ! -e out.onnx ]
}

@test "data that is empty or broken" {
  mkdir empty
  refuses_data 3 empty "no pictures" --preset vww
  : >list.txt
  refuses_data 3 list.txt "no pictures" --preset vww
  refuses_data 2 "npy:$x" "option '--limit': '0' is out of range" --limit 0
  refuses_data 5 missing "missing" --preset vww
  echo "nowhere.png 1" >list.txt
  refuses_data 3 list.txt "line 1" --preset vww
  head -c 3072 /dev/zero >cifar.bin
  refuses_data 3 cifar10:cifar.bin "3073"
  printf '\012' >cifar.bin
  head -c 3072 /dev/zero >>cifar.bin
  refuses_data 3 cifar10:cifar.bin "record"
  head -c 200 "$x" >short.npy
  refuses_data 3 npy:short.npy "short.npy"
  make_models --array other.npy 2 4 8 8
  refuses_data 3 npy:other.npy "8"
  refuses_data 2 "synth:bogus" "unknown set 'bogus'"
}

@test "fewer pictures than the limit, one picture, all equal" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --limit 100 -o out.onnx
  has "Pictures:                6"
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --limit 1 -o out.onnx
  has "Pictures:                1"
}

@test "the same bytes everywhere" { same_bytes int8; }
@test "outputs that cannot be written" { unwritable int8; }

@test "a calibration table writes the same file again without data" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o a.onnx --table t.json
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o b.onnx
  cmp a.onnx b.onnx
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --use-table t.json -o b.onnx --table again.json
  cmp a.onnx b.onnx
  cmp t.json again.json
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o b.onnx --table t.cache
  [[ $(head -1 t.cache) == TRT-* ]]
}

@test "tables of other models and data, and broken ones, are refused" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o a.onnx --table t.json
  rm -f b.onnx
  gives 3 dq-int8 "$models/small.onnx" --data "npy:$x" --limit 3 --use-table t.json -o b.onnx
  has "the table is of another data"
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --limit 3 --use-table t.json -o b.onnx --force
  rm b.onnx
  sed 's/"model": "[0-9a-f]*"/"model": "0123456789abcdef"/' t.json > other.json
  gives 3 dq-int8 "$models/small.onnx" --use-table other.json -o b.onnx
  has "the table is of another model: 0123456789abcdef"
  sed '0,/"high": [^,}]*/s//"high": -1e30/' t.json > low.json
  gives 3 dq-int8 "$models/small.onnx" --use-table low.json -o b.onnx
  has "is above high"
  sed '0,/"high": [^,}]*/s//"high": NaN/' t.json > nan.json
  gives 3 dq-int8 "$models/small.onnx" --use-table nan.json -o b.onnx
  gives 5 dq-int8 "$models/small.onnx" --use-table missing.json -o b.onnx
  [ ! -e b.onnx ]
}

@test "every way to choose ranges writes a model that runs" {
  outputs "$models/small.onnx" a "$x"
  for method in minmax ema percentile entropy mse auto; do
    gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx --method $method --equalize on --bias-correction on
    has "Biases corrected:        yes"
    outputs out.onnx b "$x"
  done
}

@test "high biases are absorbed where it helps, or when it is said, and tables keep them" {
  make_models --array many.npy 48 3 8 8
  outputs "$models/high_bias.onnx" exact "$x"
  high=("$models/high_bias.onnx" --data npy:many.npy --equalize off)
  gives 0 dq-int8 "${high[@]}" -o a.onnx --table t.json --json a.json
  has "Values with biases absorbed:"
  has "Gain of absorbing: "
  grep -q '"absorbed": 1' a.json
  grep -q '"absorption_gain": [1-9]' a.json
  outputs a.onnx a "$x"
  near a/y.npy exact/y.npy 0.01
  gives 0 dq-int8 "${high[@]}" -o off.onnx --bias-absorption off
  [[ $output != *"biases absorbed"* ]]
  run -1 cmp -s a.onnx off.onnx
  gives 0 dq-int8 "${high[@]}" -o on.onnx --bias-absorption on --threads 1 --cpu-mask c
  cmp a.onnx on.onnx
  gives 0 dq-int8 "$models/high_bias.onnx" --data npy:many.npy --use-table t.json -o b.onnx --table again.json
  has "Values with biases absorbed:"
  cmp a.onnx b.onnx
  cmp t.json again.json
  rm b.onnx
  sed '/"absorb"/,/]/ s/"b"/"a"/' t.json >other.json
  gives 3 dq-int8 "$models/high_bias.onnx" --use-table other.json -o b.onnx
  has "cannot be absorbed behind value 'a'"
  sed '/"absorb"/,/]/ s/ 0.0/ -1.0/' t.json >negative.json
  gives 3 dq-int8 "$models/high_bias.onnx" --use-table negative.json -o b.onnx
  has "is below 0"
  [ ! -e b.onnx ]
}

@test "ranges by search: said, the same bytes everywhere, and again from their table" {
  make_models --array many.npy 48 3 8 8
  cut=("$models/small.onnx" --data npy:many.npy --percentile 95 --all-int8) # ranges that are too narrow
  gives 0 dq-int8 "${cut[@]}" -o a.onnx --range-search on --table t.json --json a.json
  has "Ranges by search: "
  has "Gain of searching: "
  grep -q '"searched": [1-9]' a.json
  grep -q '"searched": true' t.json
  gives 0 dq-int8 "${cut[@]}" -o off.onnx --range-search off
  [[ $output != *"by search"* ]]
  run -1 cmp -s a.onnx off.onnx
  gives 0 dq-int8 "${cut[@]}" -o b.onnx --range-search on --threads 1 --cpu-mask c
  cmp a.onnx b.onnx
  gives 0 dq-int8 "$models/small.onnx" --data npy:many.npy --use-table t.json -o b.onnx --table again.json
  has "Ranges by search: "
  cmp a.onnx b.onnx
  cmp t.json again.json
  gives 0 dq-int8 "$models/small.onnx" --data npy:many.npy -o m.onnx --method minmax -v
  [[ $stderr != *"range search 1"* ]]
  gives 2 dq-int8 "$models/small.onnx" --data npy:many.npy -o b.onnx --range-search maybe
}

@test "adaptive rounding: the same bytes everywhere, and again from its table" {
  make_models --array many.npy 48 3 8 8
  gives 0 dq-int8 "$models/small.onnx" --data "npy:many.npy" -o a.onnx --rounding adaptive --table t.json
  has "Layers not rounded to nearest: "
  gives 0 dq-int8 "$models/small.onnx" --data "npy:many.npy" -o n.onnx --accumulator int32
  run -1 cmp -s a.onnx n.onnx
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o b.onnx
  cmp a.onnx b.onnx
  gives 0 dq-int8 "$models/small.onnx" --data "npy:many.npy" -o b.onnx --rounding adaptive --threads 1 --cpu-mask c
  cmp a.onnx b.onnx
  sed 's/"steps": "./"steps": " /' t.json >broken.json
  rm b.onnx
  gives 3 dq-int8 "$models/small.onnx" --use-table broken.json -o b.onnx
  has "weight 0 has the letter with code"
  [ ! -e b.onnx ]
}

@test "adaptive rounding leaves layers alone whose squares float32 does not hold" {
  make_models --array many.npy 6 3 8 8
  { head -c 128 many.npy; perl -e 'print pack("f<*", map { sin($_) * 1e25 } 1 .. 6 * 3 * 8 * 8)'; } >huge.npy
  gives 0 dq-int8 "$models/small.onnx" --data npy:huge.npy -o a.onnx --rounding adaptive
  has "warning: value 'a': "
  has "its weights are rounded to the nearest"
}

@test "adaptive rounding keeps blocks of 16-bit sums, and a table that does not is refused" {
  make_models --array many.npy 48 3 8 8
  gives 0 dq-int8 "$models/small.onnx" --data "npy:many.npy" -o a.onnx --rounding adaptive --accumulator int16 --table t.json --json q.json
  has "Layers not rounded to nearest: "
  [ "$(grep -c '"block16": [0-9]' q.json)" -eq 4 ]
  [ "$(grep -c '"block16": [0-3],*$' q.json)" -eq 0 ]
  gives 0 dq-report a.onnx --overflow --json r.json
  [ "$(grep '"block16"' q.json | tr -dc '0-9\n')" = "$(grep '"block16"' r.json | tr -dc '0-9\n')" ]
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o b.onnx
  cmp a.onnx b.onnx
  sed '/"steps"/ s/P/w/g' t.json >unsafe.json # every weight 39 steps larger
  gives 3 dq-int8 "$models/small.onnx" --use-table unsafe.json -o c.onnx
  has "does not keep blocks within 16 bits"
  [ ! -e c.onnx ]
}

@test "adaptive rounding keeps pairs safe, and a table that does not is refused" {
  make_models --array many.npy 48 3 8 8
  gives 0 dq-int8 "$models/small.onnx" --data "npy:many.npy" -o a.onnx --rounding adaptive --accumulator pairs --table t.json
  has "Layers not rounded to nearest: "
  has "Layers with safe pairs:        4"
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o b.onnx
  cmp a.onnx b.onnx
  gives 0 dq-int8 "$models/small.onnx" --data "npy:many.npy" -o a.onnx --rounding adaptive --accumulator int32 --table t.json
  sed 's/"rule": "int32"/"rule": "pairs", "noise": 1e9/' t.json >unsafe.json
  gives 3 dq-int8 "$models/small.onnx" --use-table unsafe.json -o c.onnx
  has "does not keep pairs safe"
  [ ! -e c.onnx ]
}

@test "adaptive rounding that is out of time keeps what it has" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o a.onnx --rounding adaptive --time-limit 0.000001s
  has "out of time: "
}

@test "factors of channels that a trial has turned down are not tried again under another name" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx -v
  [ "$(grep -c 'trial: method percentile, margins 1, equalization 2, ' <<<"$stderr")" -eq 1 ]
  [ "$(grep -c 'trial: method percentile, margins 1, equalization 3, ' <<<"$stderr")" -eq 0 ]
  [ "$(grep -c 'trial: method percentile, margins 1, equalization 4, ' <<<"$stderr")" -eq 1 ]
}

# Of 96 pictures number 2, 6, 10, ... judge and 40 give the ranges of trials. The output is one of few numbers, so that
# a trial's figure is the mean of its SQNR and that of its features.
@test "of more pictures than give ranges to trials, the file is the network that was judged" {
  shapes=$root/datasets/shapes.onnx
  for i in {0..95}; do
    printf '\0'
    head -c $((i * 1900 + 3072)) "$shapes" | tail -c 3072
  done >all.bin
  for ((i = 2; i < 96; i += 4)); do head -c $(((i + 1) * 3073)) all.bin | tail -c 3073; done >judges.bin
  gives 0 dq-int8 "$shapes" --data cifar10:all.bin --preset cifar --task none --accumulator int32 -o out.onnx -v
  has "dq-int8: trials with the ranges of all 96 pictures"
  has "dq-int8: verdict: ranges of other pictures, on 48 that gave some to trials: "
  judged=$(sed -nE 's/.*trial: .*: ([0-9.]+) dB, taken: .*/\1/p' <<<"$stderr" | tail -n 1)
  gives 0 dq-report out.onnx --ref "$shapes" --data cifar10:judges.bin --preset cifar --task none
  read -r features outputs < <(awk '$1 == "/Flatten" {f = $(NF - 2)} $1 == "scores" {print f, $2}' <<<"$output")
  awk -v j="$judged" -v f="$features" -v o="$outputs" 'BEGIN {d = j - (f + o) / 2; exit !(d * d < 1e-4)}'
}

@test "trials of a detector have the ranges of the file where 16 pictures judge" {
  make_models --array many.npy 32 3 8 8
  boxes=("$models/far.onnx" --data npy:many.npy --decode yolo:classes=11,anchors=4x4 -o out.onnx -v)
  gives 0 dq-int8 "${boxes[@]}"
  has "dq-int8: trials with the ranges of all 32 pictures"
  has "dq-int8: verdict: ranges of other pictures, on 16 that gave some to trials: "
  gives 0 dq-int8 "${boxes[@]}" --limit 30
  run -1 grep -q "ranges of all" <<<"$stderr"
  gives 0 dq-int8 "$models/far.onnx" --data npy:many.npy -o out.onnx -v
  run -1 grep -q "ranges of all" <<<"$stderr"
}

# Ranges from a search are 16 dB better here than those of the method alone.
@test "a search for layers in float begins with the network that trials judged" {
  make_models --array many.npy 17 3 8 8
  decided=("$models/small.onnx" --data npy:many.npy --method percentile --percentile 97 --range-search on --equalize off
    --bias-correction off --accumulator int32 --per-tensor)
  gives 0 dq-int8 "${decided[@]}" -o a.onnx --all-int8
  judged=$(grep -o "output 'y' has an SQNR of [0-9.]* dB" <<<"$output")
  [ -n "$judged" ]
  gives 1 dq-int8 "${decided[@]}" -o b.onnx --min-sqnr 200
  has "dq-int8: 0 layers in float: On 17 pictures that nothing was fitted to, $judged"
}

@test "-v says of every trial what was decided, and why" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o out.onnx -v
  [ "$(grep -c 'trial: ' <<<"$stderr")" -ge 4 ]
  [ "$(grep 'trial: ' <<<"$stderr" | grep -cvE ' dB, (taken|not taken): .{8,}')" -eq 0 ]
  has " dB, taken: what others are measured by"
  [ "$(grep -cE 'not taken: no more than [0-9.]+ dB$' <<<"$stderr")" -ge 1 ]
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o on.onnx -v --equalize on
  has " dB, taken: asked for"
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o rounded.onnx -v --rounding adaptive
  has "adaptive rounding: "
}

# Half of all values outside their ranges ruin the network.
ruinous() { gives "$1" dq-int8 "$models/small.onnx" --data "npy:$x" --per-tensor --percentile 50 "${@:2}"; }

@test "a verdict: a row and a sentence; where 8 bits ruin the outputs layers stay in float" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o a.onnx --csv a.csv
  grep -qE "^y +[0-9.]+ +[0-9.]+ +[0-9.]+ +maxima +83.33 % +43.6 % +97.0 % +6$" <<<"$output"
  grep -qE "^On 6 pictures that nothing was fitted to, output 'y' has an SQNR of [1-9][0-9.]+ dB \(95 % interval [1-9][0-9.]+ to [0-9.]+\)\.$" <<<"$output"
  run -1 grep -q "warning" <<<"$output$stderr"
  ruinous 0 -o b.onnx --save-precision p.json --max-float 100%
  has "dq-int8: warning: with all layers in 8 bits much is lost. On 6 pictures that nothing was fitted to, output 'y'"
  has "Layers are looked for that should stay in float (--all-int8: none)."
  has "in float, no part is below 20 dB: On 6 pictures"
  grep -q '"fp32"' p.json
  run -1 grep -q '"fp16"' p.json
  ruinous 0 -o c.onnx --precision p.json
  cmp b.onnx c.onnx
  ruinous 0 -o c.onnx --threads 3 --max-float 100%
  cmp b.onnx c.onnx
  gives 0 dq-report b.onnx --ref "$models/small.onnx" --data "npy:$x" --min-sqnr 10 --min-agreement 90
}

@test "without files the audit counts only what its summary shows, which is the same" {
  local rule text
  for rule in int32 pairs; do
    gives 0 dq-int8 "$root/datasets/shapes.onnx" --data synth:shapes,split=calib,count=8 --task none -o a.onnx --accumulator $rule
    text=$output
    gives 0 dq-int8 "$root/datasets/shapes.onnx" --data synth:shapes,split=calib,count=8 --task none -o a.onnx --accumulator $rule --json a.json
    [ "$text" = "$output" ]
    grep "Pairs saturated" <<<"$text" >>clipped
  done
  [ "$(sort -u clipped | wc -l)" -eq 2 ]
}

@test "below 20 dB within --max-float the exit status is 1, unless the loss was decided on" {
  make_models --array many.npy 16 3 8 8
  local narrow=("$models/small.onnx" --data npy:many.npy --per-tensor --percentile 90)
  gives 1 dq-int8 "${narrow[@]}" -o a.onnx
  has "dq-int8: a.onnx: below 20 dB with at most 10 % of the multiply-accumulates and weights in float (--max-float), the best found is written. On 16 pictures"
  gives 0 dq-int8 "${narrow[@]}" -o b.onnx --limit 14 # too few to tell
  gives 0 dq-int8 "${narrow[@]}" -o b.onnx --max-float 100%
  gives 0 dq-int8 "${narrow[@]}" -o c.onnx --all-int8
  gives 0 dq-int8 "${narrow[@]}" -o c.onnx --min-sqnr 1 --max-float 100%
  gives 0 dq-int8 "${narrow[@]}" -o c.onnx --min-agreement 30 --max-float 100%
  gives 0 dq-int8 "${narrow[@]}" -o d.onnx --save-precision p.json --all-int8
  gives 0 dq-int8 "${narrow[@]}" -o c.onnx --precision p.json
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o d.onnx
  gives 2 dq-int8 "${narrow[@]}" -o e.onnx --max-float 101%
}

@test "a condition holds on other pictures, or the message says how many it would take" {
  local condition=("$models/small.onnx" --data "npy:$x" --all-int8)
  gives 0 dq-int8 "${condition[@]}" -o a.onnx --min-sqnr 34
  gives 1 dq-int8 "${condition[@]}" -o a.onnx --min-sqnr 38
  has "dB on 6 pictures, but its 95 % interval begins at "
  [[ $stderr =~ "38 dB (--min-sqnr) are not sure on others; some "[0-9]+" pictures would tell" ]]
  gives 1 dq-int8 "${condition[@]}" -o a.onnx --min-agreement 83
  has "output 'y' keeps 83.33 % of its maxima on 6 pictures, but its 95 % interval begins at 43.65 %: 83 % (--min-agreement) are not sure on others"
  gives 0 dq-int8 "${condition[@]}" -o a.onnx --min-agreement 43
}

@test "--all-int8: a warning, and 1 where a condition is not held" {
  ruinous 0 -o a.onnx --all-int8
  has "dq-int8: warning: with all layers in 8 bits much is lost."
  run -1 grep -q "layers in float" <<<"$output$stderr"
  gives 1 dq-report a.onnx --ref "$models/small.onnx" --data "npy:$x" --min-sqnr 10
  ruinous 1 -o b.onnx --all-int8 --min-agreement 99
  has "dq-int8: b.onnx: output 'y' keeps "
  has " % of its maxima, less than 99 % (--min-agreement)"
  cmp a.onnx b.onnx
  ruinous 1 -o b.onnx --all-int8 --min-sqnr 20
  has "dq-int8: b.onnx: output 'y' has an SQNR of"
  ruinous 0 -o b.onnx --min-sqnr 30 --min-agreement 40 --max-float 100%
  has "in float, --min-sqnr 30 and --min-agreement 40 hold: On 6 pictures"
  ruinous 1 -o b.onnx --min-sqnr 200 --max-float 100%
  has "small.onnx: all layers stay in float"
  has "dB, less than 200 dB (--min-sqnr)"
}

@test "a verdict of one picture, of layers by --precision, and without pictures" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --limit 1 -o a.onnx
  has "On 1 picture that the conversion was fitted to, output 'y' has an SQNR of"
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --table t.json --save-precision p.json -o a.onnx
  gives 0 dq-int8 "$models/small.onnx" --use-table t.json -o d.onnx
  has "On 8 samples of noise output 'y' has an SQNR of"
  gives 1 dq-int8 "$models/small.onnx" --use-table t.json --min-sqnr 300 -o d.onnx
  sed -i '0,/"int8"/s//"fp32"/' p.json
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --precision p.json -o d.onnx
  has "On 6 pictures that nothing was fitted to, output 'y' has an SQNR of"
}
