# Sizes that a model leaves open: what reports show, what --shape takes, what models remember.
load common

@test "a report of every open size" {
  local model
  for model in open_size fussy unguessed sequences tokens unknown_size open_channels; do
    gives 0 dq-report "$models/$model.onnx"
    has "Inputs and outputs"
    has "total"
  done
}

@test "symbols in shapes, figures at a size that is named" {
  gives 0 dq-report "$models/open_size.onnx" --json a.json --csv a.csv --html a.html
  gives 0 dq-report "$models/open_size.onnx"
  has "input   images  float32  Nx3xheightxwidth"
  has "height  images          2         224  assumed"
  has "Nx8xheight/2xwidth/2  "
  has "Nx8xheight/2-2xwidth/2-2"
  has "figures are for height=224,width=224 (--shape images=N,3,224,224)."
  has "Sizes:               height=224,width=224"
  macs=$(grep -o '"macs": [0-9]*' a.json | tail -1)
  [ "$macs" = '"macs": 3580736' ] # 112 * 112 * 8 * 27 + 110 * 110 * 8 * 9 + 8 * 4
  grep -q '"source": "assumed"' a.json
  grep -q 'assumed' a.html
  grep -q '^images,input,,Nx3xheightxwidth,' a.csv
  gives 0 dq-report "$models/open_size.onnx" --shape images=N,3,32,64 --json b.json
  gives 0 dq-report "$models/open_size.onnx" --shape images=N,3,32,64
  has "Nx8x16x32"
  grep -q '"macs": 140864' b.json # 16 * 32 * 8 * 27 + 14 * 30 * 8 * 9 + 8 * 4
}

@test "a size that the network takes is looked for" {
  gives 0 dq-report "$models/fussy.onnx"
  has "input   x     float32  Nx1xHxW"
  has "figures are for H=32,W=32 (--shape x=N,1,32,32)."
  gives 0 dq-report "$models/unguessed.onnx"
  has "No size that was tried fits the network (node 'head':"
  has "at least"
  gives 0 dq-report "$models/unguessed.onnx" --shape 7,9
  has "Nx63"
}

@test "sequences, and operators that dq does not run" {
  gives 0 dq-report "$models/sequences.onnx" --json a.json
  gives 0 dq-report "$models/sequences.onnx"
  has "input   x     float32  Nxlengthx8"
  has "length=128"
  has "operator LSTM (opset 13) is not supported"
  has "MACs:                      at least 4.10 k"
  has "2 nodes could not be counted in full"
  grep -q '"macs": 4096' a.json
  grep -q '"incomplete": 2' a.json
}

@test "kernels, strides, groups and dilations are columns" {
  gives 0 dq-report "$models/open_size.onnx" --csv a.csv --json a.json --html a.html
  gives 0 dq-report "$models/open_size.onnx"
  has "Kernel  Stride  Groups  Dilation"
  has "3x3     2                         float32"
  has "3x3                  8  2         float32"
  [[ $(head -1 a.csv) == node,op,domain,shape,kernel,stride,groups,dilation,* ]]
  grep -q '^depthwise,Conv,,Nx8xheight/2-2xwidth/2-2,3x3,,8,2,' a.csv
  grep -q '"dilation": "2"' a.json
  grep -q 'Dilation' a.html
}

@test "--shape takes N, * and ?, the last sizes only, and no name for the only input" {
  local shape
  for shape in images=N,3,32,32 images=?,?,32,32 'images=*,*,32,32' images=1,3,32,32 N,3,32,32 Nx3x32x32 32,32 images=3,32,32; do
    gives 0 dq-report "$models/open_size.onnx" --shape "$shape" --json a.json
    grep -q '"macs": 69440' a.json
  done
  gives 0 dq-report "$models/open_size.onnx" --shape images=N,N,32,N
  has "figures are for width=224 (--shape images=N,3,32,224)."
  gives 2 dq-report "$models/open_size.onnx" --shape images=N,C,H,W
  has "shape 'images=N,C,H,W' is not a list of sizes such as 1,3,224,224"
  gives 2 dq-report "$models/open_size.onnx" --shape images=N,3,0,32
  gives 3 dq-report "$models/open_size.onnx" --shape images=N,4,32,32
  has "input 'images': dimension 1 is 3, given is 4"
  gives 3 dq-report "$models/open_size.onnx" --shape 1,1,3,32,32
  has "the shape given has 5 dimensions, expected 4"
}

@test "an input that the model does not have" {
  local verb
  for verb in "dq-report" "dq-bench" "dq-run" "dq-amp -o o.onnx" "dq-tucker --ratio 0.5 -o o.onnx" "dq-int8 --data npy:$x -o o.onnx"; do
    gives 2 $verb "$models/open_size.onnx" --shape imges=N,3,32,32
    has "shape for 'imges': the model has no such input"
    has "hint: did you mean 'images'?"
  done
  gives 2 dq-report "$models/open_size.onnx" "$models/small.onnx" --shape imges=N,3,32,32
  has "hint: did you mean 'images'?"
  gives 0 dq-report "$models/open_size.onnx" "$models/small.onnx" --shape images=N,3,32,32
  gives 2 dq-report "$models/sequences.onnx" --shape 1,7,8
  has "the model has 2 inputs"
}

@test "the hint of a size that is not known works as it stands" {
  local model hint
  for model in open_size fussy sequences tokens; do
    gives 2 dq-bench "$models/$model.onnx"
    hint=${stderr#*for example with }
    [ "$hint" != "$stderr" ]
    gives 0 dq-report "$models/$model.onnx" $hint
    lines=$(grep -c 'nobody gave' <<<"$output" || true)
    [ "$lines" -eq 0 ]
  done
  gives 0 dq-bench "$models/open_size.onnx" --shape images=N,3,224,224 --runs 2
}

@test "sizes given once are remembered" {
  gives 0 dq-amp "$models/open_size.onnx" --shape 32,32 -o amp.onnx
  gives 0 dq-int8 "$models/open_size.onnx" --data synth:shapes,count=4,size=40 --shape 32,32 -o int8.onnx
  gives 0 dq-tucker "$models/open_size.onnx" --shape 32,32 --ratio 0.5 --force -o tucker.onnx
  for model in amp int8 tucker; do
    gives 0 dq-report $model.onnx
    has "height  images          2          32  remembered"
    gives 0 dq-bench $model.onnx --runs 2
  done
  gives 0 dq-report int8.onnx --ref "$models/open_size.onnx" --data synth:shapes,count=4,size=40 --task none
  gives 0 dq-bench int8.onnx "$models/open_size.onnx" --runs 2
  gives 0 dq-amp int8.onnx -o again.onnx
  gives 0 dq-report int8.onnx --shape 64,64
  has "Nx8x32x32"
  gives 0 dq-report int8.onnx --shape images=N,3,48,N
  has "width=32"
}

@test "data say the size of their pictures" {
  gives 0 dq-int8 "$models/open_size.onnx" --data synth:shapes,count=4,size=40 -o int8.onnx
  gives 0 dq-report int8.onnx
  has "height  images          2          40  remembered"
  gives 0 dq-run "$models/open_size.onnx" --data synth:shapes,count=1,size=40
  gives 0 dq-tucker "$models/open_size.onnx" --data synth:shapes,count=4,size=40 --macs -10% --untimed -o tucker.onnx
}

@test "an input of whole numbers takes arrays, and no pictures" {
  make_models --array tokens.npy 6 16
  gives 0 dq-int8 "$models/tokens.onnx" --shape N,16 --data npy:tokens.npy -o o.onnx
  gives 0 dq-run o.onnx --shape N,16 --data npy:tokens.npy
  gives 3 dq-int8 "$models/tokens.onnx" --shape N,16 --data "npy:$x" -o o.onnx
  has "x.npy: the array's shape is 6x3x8x8, the model wants Nx16"
  gives 3 dq-int8 "$models/tokens.onnx" --shape N,16 --data synth:shapes -o o.onnx
  has "pictures have 1 or 3 channels, NxCxHxW or NxHxWxC, the model's input is Nx16"
  has "hint: npy:FILE and pb:DIR hold arrays of any shape"
  gives 0 dq-amp "$models/tokens.onnx" -o o.onnx
}

@test "an input of two dimensions is calibrated on arrays" {
  make_models --array rows.npy 6 4
  gives 0 dq-int8 "$models/tiny.onnx" --data npy:rows.npy -o o.onnx
  gives 0 dq-report o.onnx --ref "$models/tiny.onnx" --data npy:rows.npy
  has "relu"
}

@test "an input of float16 takes the same pictures as one of float32" {
  shapes="$root/datasets/shapes.onnx"
  gives 0 dq-amp "$shapes" --half-io -o half.onnx
  gives 0 dq-amp "$shapes" -o float.onnx
  gives 0 dq-run half.onnx --data synth:shapes --limit 1
  has "scores: float16 1x8"
  gives 0 dq-report half.onnx --ref float.onnx --data synth:shapes,count=8
  has "Agreement:           100.00 %"
}
