# Sizes that networks leave open, and presets.
load common
load pictures

@test "a network with open sizes takes those of the preset" {
  pictures 2
  printf 'P6\n4 2\n255\n%024d' 1 >wide.ppm
  echo "wide.ppm 1" >>list.txt
  printf 'input x -1 3 height width\ny = Relu x\noutput y -1 3 height width\n' >net.model
  make_models --describe net.model net.onnx
  gives 0 dq-run net.onnx --data list.txt --preset ppocr-det
  has "y: float32 1x3x864x960" # 8x8, 8x8 and 4x2: 6.67 x 6 on average
  gives 0 dq-run net.onnx --data list.txt --preset ppocr-det --preprocess longest=16,multiple=4
  has "y: float32 1x3x16x16"
  gives 0 dq-run net.onnx --data list.txt --preset ppocr-det --shape x=1,3,4,8
  has "y: float32 1x3x4x8"
  gives 2 dq-run net.onnx --data list.txt --preset ppocr-det --preprocess multiple=0
  says "dq-run: preprocess: multiple is '0', expected a whole number from 1 to 65536"
  gives 2 dq-run net.onnx --data list.txt --preset imagenet
}
