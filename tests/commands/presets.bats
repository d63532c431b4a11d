# Preprocessing that metadata of a model tells.
load common
load pictures

# detector LINE...: a detector of one convolution with the properties of an export, which these lines replace; $rows:
# of its output in the file
detector() {
  {
    printf 'input x -1 3 height width\n'
    printf 'property %s\n' 'author Ultralytics' 'task detect' 'stride 8' "names {0: 'cat', 1: 'dog'}"
    printf 'a = Conv x w(6,3,8,8) b(6) strides=8,8\ny = Reshape a i(0,6,-1)\noutput y -1 %s cells\n' "${rows-6}"
    printf '%s\n' "$@"
  } >net.model
  make_models --describe net.model net.onnx
}

unknown="the preprocessing of these pictures is not known, expected a preset"

@test "a preset that metadata tells" {
  pictures 4
  printf 'P6\n4 2\n255\n%024d' 1 >wide.ppm
  echo "wide.ppm 1" >>list.txt
  detector 'property imgsz [16, 16]'
  gives 0 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8
  has "preprocessing: yolo,longest=16,multiple=8, as the model's metadata property 'task' says; --preset overrides it"
  guessed=$output
  gives 0 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8 --preset yolo
  [ "$output" = "$guessed" ]
  [[ $stderr != *preprocessing:* ]]
  gives 0 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8 --preset yolox
  [ "$output" != "$guessed" ]
  [[ $stderr != *preprocessing:* ]]
  gives 0 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8 --preprocess scale=2
  [[ $stderr != *preprocessing:* ]]
  gives 0 dq-run net.onnx --data list.txt # pictures of two sizes
  has "pictures are resized to 16x16 with yolo,longest=16,multiple=8"
  has "y: float32 1x6x4"
  detector 'property task classify'
  gives 0 dq-run net.onnx --data list.txt --limit 1
  has "preprocessing: yolo-cls, as the model's metadata property 'task' says"
  detector 'property description Ultralytics RTDETR-x model'
  gives 0 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8
  has "preprocessing: rtdetr, as the model's metadata property 'description' says"
}

@test "conversions take the preset that metadata tells, and their files remember it" {
  pictures 4
  detector 'property imgsz [16, 16]'
  for command in "int8 --min-sqnr 0" "tucker --ratio 0.9 --force --untimed"; do
    run --separate-stderr dq-${command%% *} net.onnx -o made.onnx --data list.txt ${command#* }
    [ "$status" -le 1 ]
    has "preprocessing: yolo,longest=16,multiple=8, as the model's metadata property 'task' says; --preset overrides it"
    gives 0 dq-run made.onnx --data list.txt --limit 1
    has "preprocessing: yolo,longest=16,multiple=8, as the model remembers"
  done
  gives 0 dq-amp net.onnx -o made.onnx --check list.txt
  has "preprocessing: yolo,longest=16,multiple=8, as the model's metadata property 'task' says"
  gives 0 dq-report net.onnx --data list.txt --task none
  has "preprocessing: yolo,longest=16,multiple=8, as the model's metadata property 'task' says"
}

@test "metadata that tells no preset" {
  pictures 4
  for line in 'task Detect' 'task depth' 'author Ultralytics Inc.' "names {0: 'cat'" 'names nothing'; do
    rows=any detector "property $line"
    gives 2 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8
    has "$unknown"
    [[ $stderr != *preprocessing:* ]]
  done
  for line in 'imgsz [sixteen]' 'imgsz [0, 0]' 'stride many' 'stride 99999999999999999999'; do
    detector 'property imgsz 16' "property $line"
    gives 0 dq-run net.onnx --data list.txt --limit 1 --shape x=1,3,8,8
    has "preprocessing: yolo, as the model's metadata property 'task' says"
  done
}

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
