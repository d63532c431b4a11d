# dq-amp: what it says, what it writes.
load common

@test "a small model" {
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --cpu-mask avx2
  [ "$output" = "Nodes:                          8
In float16:                     8
In float32 by the guard:        0
Values proven to fit:           4
Values estimated to fit:        5
Values of unknown range:        0
Weights in float16:             1.54 k
Weights too small, now zero:    0
Weights not rounded to nearest: 152
SQNR on noise (dB):             86.3
Casts:                          2
Bytes cast in a run:            1.1 KiB

Outputs against the float model
Output  SQNR (dB)  Answers      Kept  Number
--------------------------------------------
y           66.59  maxima   100.00 %       2

Smaller, not faster: this processor has no float16 arithmetic.
On 2 samples of noise output 'y' has an SQNR of 66.6 dB." ]
  says ""
  [ "$(stat -c %s out.onnx)" -lt $(($(stat -c %s "$models/small.onnx") * 7 / 10)) ]
  outputs "$models/small.onnx" a "$x"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0.005
  only a b out.onnx
}

@test "weights rounded so that errors cancel: the same bytes everywhere, fewer errors" {
  for words in "--threads 1 --cpu-mask c" "--threads 3" "--threads 2 --cpu-mask avx2"; do
    gives 0 dq-amp "$models/small.onnx" -o "$((++n)).onnx" $words
  done
  cmp 1.onnx 2.onnx
  cmp 1.onnx 3.onnx
  gives 0 dq-amp "$models/small.onnx" -o nearest.onnx --rounding nearest
  [[ $output != *"SQNR on noise"* ]]
  run -1 cmp -s 1.onnx nearest.onnx
  [ "$(stat -c %s 1.onnx)" -eq "$(stat -c %s nearest.onnx)" ]
  gives 0 dq-amp "$models/if.onnx" -o if.onnx
  gives 2 dq-amp "$models/small.onnx" -o out.onnx --rounding up
}

@test "explanations and colours" {
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --explain --deny-node 'head*' --deny Relu
  [ "$(grep -cE ' (ALLOW|FOLLOW|DENY) ' <<<"$output")" -eq 8 ]
  has "head       Gemm               DENY    float32    --deny-node"
  has "relu1      Relu               DENY    float32    --deny"
}

@test "a policy of the user's own" {
  cat >policy.json <<'EOF'
{"schema": "dq-policy", "version": 1,
 "operators": {"Relu": "deny", "Conv": "allow", "Gemm": "allow"},
 "nodes": {"head*": "deny", "*1": "follow"}}
EOF
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --explain --policy policy.json
  has "head       Gemm               DENY    float32    policy: nodes 'head*'"
  has "relu2      Relu               DENY    float32    policy: operator 'Relu'"
  has "conv1      Conv               FOLLOW"
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --explain --policy policy.json --allow Relu
  has "relu2      Relu               ALLOW   float16    --allow"
  sed -i 's/^ "operators"/ "others": "deny", "operators"/' policy.json
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --explain --policy policy.json --json -
  has '"reason": "the policy does not list the operator"'
  has '"unlisted": ['
  sed -i 's/"deny", "Conv": "allow"/"deny", "Conv": "maybe"/' policy.json
  gives 3 dq-amp "$models/small.onnx" -o out.onnx --policy policy.json
  says "dq-amp: policy.json: line 2: the colour of 'Conv': expected \"allow\", \"follow\" or \"deny\""
  echo '{"schema": "dq-policy", "version": 1, "operator": {}}' >policy.json
  gives 3 dq-amp "$models/small.onnx" -o out.onnx --policy policy.json
  has "line 1: unknown field 'operator'"
  has "did you mean 'operators'?"
  echo '{"schema": "dq-policy", "version": 1}' >policy.json
  gives 3 dq-amp "$models/small.onnx" -o out.onnx --policy policy.json
  says "dq-amp: policy.json: no operators and no nodes"
}

@test "values beyond float16 stay float32, seen without data" {
  gives 0 dq-amp "$models/loud.onnx" -o out.onnx --explain
  has "conv1  Conv      ALLOW   float16    the operator's colour"
  has "conv2  Conv      ALLOW   float32    guard: its values may reach "
  has "relu2  Relu      FOLLOW  float32    guard: "
  has "conv3  Conv      ALLOW   float32    guard: reads values that may reach "
  has "conv4  Conv      ALLOW   float16    the operator's colour"
  says "dq-amp: $models/loud.onnx: the guard keeps 3 nodes in float32, as inputs may reach 255; --preset or --input-max says how far yours reach"
  [ "$(grep -c ' float32 ' <<<"$output")" -le 4 ]
  outputs "$models/loud.onnx" a "$x"
  outputs out.onnx b "$x"
  near b/y.npy a/y.npy 0.01
  gives 0 dq-amp "$models/loud.onnx" -o least.onnx --input-max 1e-3
  has "In float32 by the guard:        0"
  has "On 2 samples of noise output 'y' has an SQNR of"
  says ""
  gives 1 dq-amp "$models/loud.onnx" -o off.onnx --guard off
  has "In float16:                     7"
  has "dq-amp: warning: much is lost. On 2 samples of noise output 'y' has NaN or infinity where the float model has none, on every sample."
  has "dq-amp: off.onnx: output 'y' has NaN or infinity where the float model has none, on every sample"
  outputs off.onnx c "$x"
  gives 0 dq-report off.onnx --ref "$models/loud.onnx" --data "npy:$x"
  has "Not finite"
  run -1 near c/y.npy a/y.npy 0.01
}

@test "the preprocessing of pictures says how far inputs reach" {
  none() { has "In float32 by the guard:        0" && [[ $stderr != *"the guard keeps"* ]]; }
  gives 0 dq-amp "$models/loud.onnx" -o known.onnx --preset vww
  has "the guard keeps 3 nodes in float32, as inputs may reach 1 by the preprocessing; --input-max says how far yours reach"
  gives 0 dq-amp "$models/loud.onnx" -o small.onnx --preset vww --preprocess scale=1/8192
  none
  gives 0 dq-amp "$models/loud.onnx" -o same.onnx --input-max 0.0311279296875 # 255 / 8192
  cmp small.onnx same.onnx
  gives 0 dq-amp "$models/loud.onnx" -o out.onnx --preset vww --preprocess scale=1/8192 --input-max 255
  has "In float32 by the guard:        3"
  gives 0 dq-amp "$models/loud.onnx" -o out.onnx --check synth:shapes,size=8,count=2 --preprocess scale=1/8192
  none
  gives 0 dq-amp "$models/loud.onnx" -o out.onnx --check "npy:$x" --preprocess scale=1/8192 # arrays are as they are
  has "as inputs may reach 255; --preset or --input-max says how far yours reach"
  gives 0 dq-tucker "$models/loud.onnx" --ratio 0.9 --force --untimed --data synth:shapes,size=8,count=2 \
    --preprocess scale=1/8192 -o remembers.onnx
  gives 0 dq-amp remembers.onnx -o out.onnx
  none
  has "preprocessing: scale=1/8192, as the model remembers"
  gives 0 dq-amp "$models/two_inputs.onnx" -o out.onnx --preprocess scale=1e9 # of which input is not known
  has "In float32 by the guard:        0"
  gives 2 dq-amp "$models/loud.onnx" -o none.onnx --preset nonsense
  [ ! -e none.onnx ]
}

# The argument of the Softmax is an output as well: both are compared, also where inputs and outputs become float16.
@test "scores and probabilities are both outputs" {
  cat >two.model <<'END'
input x -1 3 8 8
a = Conv x w(6,3,3,3) b(6) pads=1,1,1,1
g = GlobalAveragePool a
scores = Flatten g
output scores -1 6
y = Softmax scores
output y -1 6
END
  make_models --describe two.model two.onnx
  gives 0 dq-amp two.onnx -o half.onnx --half-io
  has "scores                "
  has "y       before Softmax"
  gives 0 dq-int8 two.onnx --data "npy:$x" -o int8.onnx
  has "scores                "
  has "y       before Softmax"
  gives 0 dq-report int8.onnx --ref two.onnx --data "npy:$x"
}

@test "EyeLike without a type of its own gives that of its input" {
  printf '%s\n' 'input x -1 6' 'c = Gemm x w(6,6)' 'e = EyeLike c' 'y = Add c e' 'f = EyeLike c dtype=1' 'output y -1 6' 'output f -1 6' >eye.model
  make_models --describe eye.model eye.onnx
  make_models --array z.npy 1 6
  for words in "" "--half-io"; do
    gives 0 dq-amp eye.onnx -o out.onnx --explain $words
    grep -qE '^e +EyeLike +DENY +float32 ' <<<"$output"
    grep -qE '^f +EyeLike +DENY +- ' <<<"$output"
    gives 0 dq-report out.onnx
  done
  gives 0 dq-amp eye.onnx -o out.onnx
  gives 0 dq-run out.onnx --input z.npy
}

# ONNX has float16 for Celu from opset 28 on, for IsInf from 20 and for CumSum from 14.
@test "operators whose version has no float16 stay float32" {
  cat >old.model <<'END'
opset = 13
input x -1 3 8 8
c = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
e = Celu c
y = CumSum e i(1)
output y -1 4 8 8
END
  make_models --describe old.model old.onnx
  gives 0 dq-amp old.onnx -o out.onnx --explain --allow CumSum
  grep -qE '^e +Celu +FOLLOW +float32 +its version of ONNX has no float16' <<<"$output"
  grep -qE '^y +CumSum +ALLOW +float32 +its version of ONNX has no float16' <<<"$output"
  sed -i 's/^opset = 13/opset = 14/' old.model
  make_models --describe old.model old.onnx
  gives 0 dq-amp old.onnx -o out.onnx --explain --allow CumSum
  grep -qE '^y +CumSum +ALLOW +float16' <<<"$output"
}

@test "values looked at on data" {
  gives 0 dq-amp "$models/loud.onnx" -o out.onnx --check "npy:$x"
  has "0 of 6 layers have values beyond 65504 on 6 pictures."
  cp out.onnx before.onnx
  gives 1 dq-amp "$models/loud.onnx" -o off.onnx --guard off --check "npy:$x" --limit 2 --json check.json
  has "dq-amp: warning: much is lost. On 2 pictures that nothing was fitted to, output 'y' has NaN or infinity where"
  has "Nodes stay in float32 with --deny-node; --explain lists the nodes."
  has "dq-amp: $models/loud.onnx: 2 layers in float16 have values beyond 65504"
  has "2 of 8 layers have values beyond 65504 on 2 pictures."
  grep -q '"overflow_share":' check.json
  [ "$(grep -E '^(conv2|relu2) .*%$' <<<"$output" | awk '$4 > 0 && $5 > 0' | wc -l)" -eq 2 ]
  [ "$(grep -E '^(x|conv1|relu1|conv3|conv4) .*%$' <<<"$output" | awk '$4 == 0' | wc -l)" -eq 5 ]
  only out.onnx before.onnx off.onnx check.json
  gives 2 dq-amp "$models/loud.onnx" -o out.onnx --limit 2
  gives 5 dq-amp "$models/loud.onnx" -o out.onnx --check npy:missing.npy
}

# Nodes of the model and of the report are not at the same places once a batch normalization is folded.
@test "values looked at on data behind a folded batch normalization" {
  gives 1 dq-amp "$models/loud_norm.onnx" -o off.onnx --guard off --deny-node relu2 --check "npy:$x"
  has "dq-amp: $models/loud_norm.onnx: 2 layers in float16 have values beyond 65504"
  has "2 of 8 layers have values beyond 65504 on 6 pictures."
  [ "$(grep -E '^(conv2|relu2) .*%$' <<<"$output" | awk '$4 > 0 && $5 > 0' | wc -l)" -eq 2 ]
  run -1 grep -q '^conv1 ' <<<"$output"
  gives 0 dq-amp "$models/loud_norm.onnx" -o out.onnx --check "npy:$x"
  has "0 of 6 layers have values beyond 65504 on 6 pictures."
}

@test "little smaller is said" {
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --deny Conv
  has "Weights in float32:             1.47 k"
  has "Little smaller: 1.47 k of 1.54 k weights stay in float32, most of them in Conv (--explain says why)."
  [[ $output != *"Smaller, not faster"* ]]
  gives 0 dq-amp "$models/small.onnx" -o out.onnx
  [[ $output != *"Weights in float32"* ]]
}

@test "facts for programs" {
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --json - --csv nodes.csv
  has '"schema": "dq-amp"'
  has '"float16": 8'
  [ "$(head -n 1 nodes.csv | tr -d '\r')" = "node,op,colour,precision,reason" ]
  [ "$(wc -l <nodes.csv)" -eq 9 ]
}

@test "converted already: nothing to do" {
  dq-amp "$models/small.onnx" -o half.onnx --half-io >/dev/null
  for model in half.onnx "$models/half.onnx" "$models/double.onnx" "$models/bfloat16.onnx" "$models/qoperator.onnx"; do
    gives 0 dq-amp "$model" -o out.onnx
    says "dq-amp: $model: nothing to do, no node becomes float16"
  done
  convert int8 "$models/small.onnx" int8.onnx >/dev/null
  gives 0 dq-amp int8.onnx -o out.onnx
  says "dq-amp: int8.onnx: nothing to do, no node becomes float16"
  gives 0 dq-amp int8.onnx -o out.onnx --explain
  has "its input is quantized"
}

@test "weights that are shared, outputs, or given by nodes" {
  make_models --array one.npy 1 8 8 8
  for model in shared weight_output node_bias; do
    convert amp "$models/$model.onnx" out.onnx
    outputs "$models/$model.onnx" a one.npy
    outputs out.onnx b one.npy
    near b/y.npy a/y.npy 0.005
  done
}

@test "a verdict: on noise, on pictures, with outputs in float16, and conditions on it" {
  gives 0 dq-amp "$models/small.onnx" -o out.onnx --min-sqnr 50 --min-agreement 100
  sentence=$(grep "^On 2 samples of noise output 'y' has an SQNR of 6[0-9.]* dB" <<<"$output")
  [ -n "$sentence" ]
  gives 0 dq-amp "$models/small.onnx" -o half.onnx --half-io
  has "$sentence"
  gives 0 dq-amp "$models/small.onnx" -o half.onnx --half-io --check "npy:$x"
  has "On 6 pictures that nothing was fitted to, output 'y' has an SQNR of"
  gives 0 dq-report half.onnx --ref "$models/small.onnx" --data "npy:$x" --min-sqnr 50
  gives 0 dq-report out.onnx --ref half.onnx --data "npy:$x" --min-sqnr 50
  gives 1 dq-amp "$models/small.onnx" -o again.onnx --min-sqnr 90
  has "dq-amp: again.onnx: output 'y' has an SQNR of 6"
  has "dB, less than 90 dB (--min-sqnr)"
  cmp out.onnx again.onnx
  gives 1 dq-amp "$models/loud.onnx" -o off.onnx --guard off --min-agreement 50
  has "dq-amp: off.onnx: output 'y' has NaN or infinity where the float model has none, on every sample"
}

@test "no verdict: a network that cannot be run, one that does not change" {
  gives 0 dq-amp "$models/if.onnx" -o out.onnx
  has "dq-amp: the outputs were not compared on noise: node 'choice': operator If"
  run -1 grep -q "^Outputs against" <<<"$output"
  gives 4 dq-amp "$models/if.onnx" -o out.onnx --min-sqnr 1
  has "dq-amp: out.onnx: no output could be compared, which --min-sqnr needs"
  gives 0 dq-amp "$models/half.onnx" -o out.onnx --min-sqnr 999
  run -1 grep -q "^Outputs against" <<<"$output"
}

@test "a verdict in rounds: large outputs are compared a few pictures at a time" {
  cat >large.model <<'EOF'
# An output of 9.8 MiB
input x -1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
y = Resize a - f(1,1,100,100) mode=nearest
output y -1 4 800 800
EOF
  make_models --describe large.model large.onnx
  gives 0 dq-amp large.onnx -o half.onnx --check "npy:$x"
  grep -qE "^y +[5-9][0-9.]+ +([0-9.]+ +[0-9.]+ +)?points +[0-9.]+ % +([0-9.]+ % +[0-9.]+ % +)?3840000$" <<<"$output"
  line=$(grep "^y  " <<<"$output")
  gives 0 dq-amp large.onnx -o half.onnx --check "npy:$x" --memory 80M
  [ "$(grep "^y  " <<<"$output")" = "$line" ]
  gives 0 dq-amp large.onnx -o half.onnx --memory 8M
  has "dq-amp: the outputs were not compared on noise: "
  has "--memory allows 8 MiB"
}

@test "a verdict at sizes that the model leaves open" {
  gives 0 dq-amp "$models/open_size.onnx" -o out.onnx
  has "On 2 samples of noise output"
}

@test "the same bytes everywhere" { same_bytes amp; }
@test "outputs that cannot be written" { unwritable amp; }
