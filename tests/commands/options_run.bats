# As options.bats, of dq-run.
load common
load pictures
load effects

@test "options: dq-run" {
  effects dq-run <<'END'
input x=../x.npy | ../small.onnx | 0 y: float32 6x4
shape x=2,3,8,9 | ../small.onnx --data npy:../x.npy | 3 ../small.onnx
save-output . | ../small.onnx --input ../x.npy | file y.npy
conv winograd | ../high_bias.onnx --data synth:shapes,count=2,size=8 --save-output . | differs err
conv nonsense | ../small.onnx --input ../x.npy | 2 there is no algorithm 'nonsense'
top 1 | ../small.onnx --input ../x.npy | differs out
plain - | ../int8.onnx --input ../x.npy --save-output . | bytes y.npy
time-limit 0.0000001s | ../small.onnx --data npy:../x.npy | 1 --time-limit: the first 1 of 6 pictures were run
onnx-tests ../suite |  | 1 0 passed, 1 failed
only none* | --onnx-tests ../suite | 3 no test cases
data npy:../x.npy | ../small.onnx | 0 y: float32 1x4
limit 1 | ../small.onnx --data npy:../x.npy | differs out
sample 1 | ../small.onnx --data npy:../x.npy | differs out
decode map | ../small.onnx --data npy:../x.npy | 3 map: the outputs are 1x4
decode nonsense | ../small.onnx --data npy:../x.npy | 2 unknown decoder 'nonsense'
dictionary ../names.txt | ../small.onnx --data npy:../x.npy | elsewhere texts.bats
recognize ../small.onnx | ../small.onnx --data npy:../x.npy | 2 --recognize: the data are arrays
score 0.5 | ../small.onnx --data npy:../x.npy | elsewhere answers.bats
overlap 0.5 | ../small.onnx --data npy:../x.npy | elsewhere answers.bats
ref ../small.onnx | ../small.onnx --data npy:../x.npy | 0 6 of 6 classes are in both
json o.json | ../small.onnx --data npy:../x.npy | file o.json
draw drawn | ../small.onnx --data ../list.txt --preset tf | file drawn/000000_p0.ppm.png
batch 20000 | ../small.onnx --data npy:../x.npy --memory 8M | 5 memory
preset tf | ../small.onnx --data ../list.txt | 0 p0.ppm
preset nonsense | ../small.onnx --data ../list.txt | 2 nonsense
preprocess scale=0.5 | ../small.onnx --data ../list.txt --preset tf | differs out
preprocess nonsense | ../small.onnx --data ../list.txt --preset tf | 2 nonsense
labels ../names.txt | ../small.onnx --data ../list.txt --preset tf | 0 star
norm ../missing.csv | ../small.onnx --data ../list.txt --preset lgg | 5 missing.csv
strict - | ../small.onnx --data ../broken.txt --preset tf | 3 broken.ppm
accumulate fp16 | ../half.onnx --data npy:../x.npy --cpu-mask c | 0 float16 sums are emulated
wisdom nowhere | ../small.onnx --input ../x.npy | 5 nowhere: No such file
no-wisdom - | ../small.onnx --input ../x.npy | elsewhere tune.bats
threads 3 | ../small.onnx --input ../x.npy -v | 0 threads: 3
seed 5 | ../small.onnx --data synth:shapes,count=2,size=8 | differs out
cpu-mask c | ../small.onnx --input ../x.npy -v | 0 instruction sets: c
cpu-mask nonsense | ../small.onnx --input ../x.npy | 2 nonsense
memory 1 | ../small.onnx --input ../x.npy | 5 memory
progress bar | ../small.onnx --data synth:shapes,count=100000000,size=8 --time-limit 60s | 1 pictures [
color always | ../nan.onnx | 5 [31m
verbose - | ../small.onnx --input ../x.npy | 0 of memory
quiet - | ../small.onnx --data ../broken.txt --preset tf | differs err
END
}
