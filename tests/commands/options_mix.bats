# As options.bats, of dq-mix. Lines that measure do so for the shortest time.
load common
load pictures
load effects

@test "options: dq-mix" {
  effects dq-mix <<'END'
max-drop 100 | ../small.onnx -o o.onnx --data npy:../x.npy --time-limit 0.01s | elsewhere mix.bats
cautious - | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 100 --time-limit 0.01s | elsewhere mix.bats
max-time 1ns | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 | 2 max-time
size 1k | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --max-time 1s | 2 --size
eval ../missing.txt | ../small.onnx -o o.onnx --data ../list.txt --preset tf --max-drop 1 --time-limit 0.01s | 5 missing.txt
eval-limit 3 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --max-drop 1 --eval ../list.txt --time-limit 0.01s | elsewhere mix.bats
points 5 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | 2 out of range
time-limit 0 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 | 2 time-limit
also nothing | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | 2 NAME=FILE
cache c | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
resume - | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
save-precision p.json | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
layers - | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
shape x=1,3,8,9 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | 3 small.onnx
data npy:../missing.npy | ../small.onnx -o o.onnx --max-drop 1 --time-limit 0.01s | 5 missing.npy
limit 3 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
sample 3 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere inputs.bats
batch 20000 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s --memory 8M | 5 memory
preset nonsense | ../small.onnx -o o.onnx --data ../list.txt --max-drop 1 --time-limit 0.01s | 2 nonsense
preprocess resize=nonsense | ../small.onnx -o o.onnx --data ../list.txt --preset tf --max-drop 1 --time-limit 0.01s | 2 nonsense
labels ../missing.txt | ../small.onnx -o o.onnx --data ../pictures --preset tf --max-drop 1 --time-limit 0.01s | 5 missing.txt
norm ../missing.csv | ../small.onnx -o o.onnx --data ../list.txt --preset lgg --max-drop 1 --time-limit 0.01s | 5 missing.csv
strict - | ../small.onnx -o o.onnx --data ../broken.txt --preset tf --max-drop 1 --time-limit 0.01s | 3 broken.ppm
task detect | ../small.onnx -o o.onnx --data ../list.txt --preset tf --max-drop 1 --time-limit 0.01s | 3 detect
decode nonsense | ../small.onnx -o o.onnx --data ../list.txt --preset tf --max-drop 1 --time-limit 0.01s | 2 unknown decoder 'nonsense'
output o.onnx | ../small.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
wisdom missing | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | 5 missing
no-wisdom - | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
json out.json | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
csv out.csv | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
html out.html | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
threads 2 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
seed 5 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
cpu-mask mmx | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | 2 mmx
memory 1 | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | 5 memory
progress bar | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
color always | ../nan.onnx -o o.onnx --data npy:../x.npy --max-drop 1 | 5 [31m
verbose - | ../small.onnx -o o.onnx --data npy:../x.npy --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
quiet - | ../small.onnx -o o.onnx --data ../broken.txt --preset tf --max-drop 1 --time-limit 0.01s | elsewhere mix.bats
END
}
