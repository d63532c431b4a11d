# Names and patterns that fit nothing in the model are mistakes, and the nearest name is told.
load common

# refuses NAME COMMAND...: status 2, and the name that was meant
refuses() {
  local meant=$1
  shift
  gives 2 "$@"
  has "hint: did you mean '$meant'?"
}

@test "patterns of nodes" {
  refuses depthwise dq-int8 "$models/small.onnx" --data "npy:$x" --exclude depthwse -o o.onnx
  has "option '--exclude': no node is called 'depthwse'"
  refuses conv1 dq-int8 "$models/small.onnx" --data "npy:$x" --only 'cnv1' -o o.onnx
  refuses depthwise dq-amp "$models/small.onnx" --deny-node depthwsie -o o.onnx
  refuses depthwise dq-report "$models/small.onnx" --only depthwize
  refuses depthwise dq-run "$models/small.onnx" --input "x=$x" --conv depthwize=direct
  refuses depthwise dq-bench "$models/small.onnx" --conv depthwize=direct --runs 1
  gives 2 dq-report "$models/small.onnx" --only 'zzz*'
  has "option '--only': no node is called 'zzz*'"
  has "hint: dq-report lists the nodes of a model"
  only
}

@test "patterns that fit are taken" {
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --exclude 'depth*' -o o.onnx
  gives 0 dq-amp "$models/small.onnx" --deny-node 'conv?' -o a.onnx
  gives 0 dq-report "$models/small.onnx" --only 'conv*'
  gives 0 dq-report o.onnx --ref "$models/small.onnx" --data "npy:$x" --only 'conv*'
  has "conv2"
  gives 0 dq-bench "$models/small.onnx" "$models/tiny.onnx" --conv depthwise=direct --runs 1
}

# Names that no model on the command line has are fine where ONNX has them: command lines are made for several models.
@test "operators" {
  local asked
  refuses Conv dq-int8 "$models/small.onnx" --data "npy:$x" --operators Covn -o o.onnx
  has "option '--operators': no operator is called 'Covn'"
  refuses Conv dq-int8 "$models/small.onnx" --data "npy:$x" --operators Gemm,conv -o o.onnx
  for asked in --allow --follow --deny; do
    refuses Softmax dq-amp "$models/small.onnx" $asked Relu,Sofmax -o o.onnx
    has "option '$asked': no operator is called 'Sofmax'"
  done
  gives 2 dq-amp "$models/small.onnx" --allow Conv, -o o.onnx
  has "option '--allow': no operator is called ''"
  gives 2 dq-int8 "$models/small.onnx" --data "npy:$x" --operators 'Zzz*' -o o.onnx
  only
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" --operators 'Conv*,MatMul' -o o.onnx
  gives 0 dq-amp "$models/small.onnx" --deny Softmax,LSTM,Loop -o a.onnx
  refuses Frobnicate dq-amp "$models/unknown_operator.onnx" --allow Frobnicat -o b.onnx
  gives 0 dq-amp "$models/unknown_operator.onnx" --deny Frobnicate -o b.onnx
}

@test "operators of a policy, which is made for several models" {
  printf '{"schema": "dq-policy", "version": 1, "operators": {"%s": "deny"}}' Sofmax >policy.json
  gives 0 dq-amp "$models/small.onnx" --policy policy.json -o a.onnx
  has "policy.json: no operator is called 'Sofmax', did you mean 'Softmax'?"
  printf '{"schema": "dq-policy", "version": 1, "operators": {"%s": "deny"}}' LSTM >policy.json
  gives 0 dq-amp "$models/small.onnx" --policy policy.json -o a.onnx
  [ -z "$stderr" ]
}

@test "layers of ranks" {
  printf '{"schema": "dq-ranks", "version": 1, "layers": {"conv9": {"out": 2, "in": 2}}}' >ranks.json
  gives 3 dq-tucker "$models/small.onnx" --ranks ranks.json -o t.onnx
  has "ranks are given for 'conv9', which is no convolution"
  [[ $stderr =~ "hint: did you mean 'conv"[12]"'?" ]]
}

@test "inputs and cases of a test suite" {
  refuses images dq-run "$models/open_size.onnx" --input "imges=$x"
  mkdir -p suite/test_a
  cp "$models/tiny.onnx" suite/test_a/model.onnx
  gives 3 dq-run --onnx-tests suite --only 'test_zzz*'
  has "suite: no test cases"
}
