# Every option of every command does something: a table per command holds a line for each.
load common

load pictures
load effects

@test "options: every command has a table here" {
  [ "$(wc -w <<<"$verbs")" -ge 6 ]
  for verb in $verbs; do grep -qxh "  effects dq-$verb <<'END'" "$BATS_TEST_DIRNAME"/options*.bats; done
}

# each_listed COMMAND: its help lists each option, and none takes an empty value or, of choices, another one
each_listed() {
  local command=$1 help names option
  help=$("$command" --help)
  names=$(options_of "$command")
  [ "$(wc -w <<<"$names")" -ge 5 ]
  for option in $names; do
    [[ $help == *"--$option"* ]] || {
      echo "$command --help: no --$option"
      return 1
    }
  done
  names=$("$command" --help-complete fish | sed -nE "s/^complete -c $command -l ([a-z0-9-]+).* -(x|r -F).*/\1/p")
  [ "$(wc -w <<<"$names")" -ge 2 ]
  for option in $names; do
    gives 2 "$command" "--$option="
    says "dq-${command#dq-}: option '--$option': the value is empty"
  done
  names=$("$command" --help-complete fish | sed -nE "s/^complete -c $command -l ([a-z0-9-]+).* -x -a.*/\1/p" |
    grep -vxE 'preset|decode|cpu-mask|conv') # these take other words too: lines below
  for option in $names; do
    gives 2 "$command" "--$option=nonsense"
    has "option '--$option': 'nonsense'"
  done
}

@test "options: help lists each, and a value is not empty and one of the choices" {
  for command in $(printf 'dq-%s\n' $verbs); do each_listed "$command"; done
}

@test "options: not offered where they would do nothing" {
  for words in "dq-run --task classify" "dq-amp --force" "dq-report --time-limit 1s" \
    "dq-amp --batch 2" "dq-int8 --weights s8" "dq-int8 --per-channel"; do
    read -r command option value <<<"$words"
    gives 2 "$command" "$models/small.onnx" "$option" $value
    has "unknown option '$option'"
  done
}

@test "options: one that another one must go with" {
  local m=$models/small.onnx
  while IFS='|' read -r line option need; do
    read -ra words <<<"$line"
    gives 2 "${words[@]}"
    has "option '--$option' needs $need"
  done <<END
dq-report $m --limit 2|limit|'--data'
dq-report $m --preset tf|preset|'--data'
dq-report $m --table t --data x|table|'--html'
dq-run $m --input $x --strict|strict|'--data'
dq-run $m --input $x --only x|only|'--onnx-tests'
dq-amp $m -o o.onnx --time-limit 1s|time-limit|'--retrain'
dq-int8 $m -o o.onnx --use-table t --limit 2|limit|'--data'
dq-int8 $m -o o.onnx --data x --force|force|'--use-table'
dq-int8 $m -o o.onnx --data x --time-limit 1s|time-limit|'--max-drop', '--rounding' or '--retrain'
dq-train $m -o o.onnx --data x --val x --resume|resume|'--checkpoint'
dq-train $m -o o.onnx --data x --val x --checkpoint-every 2|checkpoint-every|'--checkpoint'
dq-tucker $m -o o.onnx --ratio 0.5 --preset tf|preset|'--data' or '--eval'
dq-tucker $m -o o.onnx --ratio 0.5 --time-limit 1s|time-limit|'--max-drop' or '--retrain'
END
}

@test "options: dq-bench" {
  effects dq-bench <<'END'
vs ../int8.onnx | ../small.onnx --runs 2 | 0 int8.onnx
runs 7 | ../small.onnx --json - -q | 0 "runs": 7
blocks 3 | ../small.onnx --json - -q | 0 "blocks": 3
warmup 0 | ../small.onnx --runs 2 | drops First
per-layer - | ../small.onnx --runs 2 | 0 conv1
plot p.svg | ../small.onnx --runs 2 --per-layer | file p.svg
timeline line.json | ../small.onnx --runs 1 | file line.json
time-limit 0.0000001s | ../small.onnx --runs 9 --json - -q | 0 "runs": 1
batch 5 | ../small.onnx --runs 2 --json - -q | 0 "batch": 5
conv winograd | ../small.onnx --runs 2 | 0 winograd
conv nonsense | ../small.onnx --runs 2 | 2 there is no algorithm 'nonsense'
plain - | ../small.onnx --runs 2 --per-layer | 0 relu1
shape x=2,3,9,9 | ../small.onnx --runs 2 | 3 small.onnx
accumulate fp16 | ../half.onnx --runs 2 --cpu-mask c | 0 float16 sums are emulated
wisdom nowhere | ../small.onnx --runs 2 | 5 nowhere: No such file
no-wisdom - | ../small.onnx --runs 2 | elsewhere tune.bats
json out.json | ../small.onnx --runs 2 | file out.json
csv out.csv | ../small.onnx --runs 2 | file out.csv
html out.html | ../small.onnx --runs 2 | file out.html
threads 3 | ../small.onnx --runs 2 -v | 0 threads: 3
seed 5 | ../small.onnx --runs 2 | elsewhere ../tables/check
cpu-mask c | ../small.onnx --runs 2 -v | 0 instruction sets: c
memory 1 | ../small.onnx --runs 2 | 5 memory
progress bar | ../small.onnx --runs 1000000 --time-limit 60s | 0 timing
color always | ../nan.onnx | 5 [31m
verbose - | ../small.onnx --runs 2 | 0 of memory
quiet - | ../half.onnx --runs 2 --accumulate fp16 --cpu-mask c | differs err
END
}

@test "options: dq-multi" {
  printf '0 small\n0.01 small\n0.02 small\n' >trace.txt
  printf '0.01 large\n' >other.txt
  effects dq-multi <<'END'
policy edf | ../small.onnx --duration 20ms | 0 edf
policy fast | ../small.onnx --duration 20ms | 2 'fast' is not one of fifo, round-robin, priority, edf
job-time 0.001us | ../small.onnx --duration 20ms --json - -q | 0 "job": 2
slice 20000000s | ../small.onnx --duration 20ms | 2 '20000000s' is out of range
duration 20ms | ../small.onnx --requests 100000 | 0 Time of the run:                   0.0
requests 7 | ../small.onnx --duration 1s --json - -q | 0 "requests": 7,
trace ../trace.txt | ../small.onnx --duration 1s --json - -q | 0 "requests": 3,
trace ../other.txt | ../small.onnx --duration 20ms | 3 line 1: there is no network 'large'
data npy:../missing.npy | ../small.onnx --duration 20ms | 5 missing.npy
preset nonsense | ../small.onnx --data ../list.txt --duration 20ms | 2 nonsense
preprocess nonsense | ../small.onnx --data ../list.txt --preset tf --duration 20ms | 2 nonsense
norm ../missing.csv | ../small.onnx --data ../list.txt --preset lgg --duration 20ms | 5 missing.csv
auto - | ../small.onnx --duration 500ms --threads 2 --json - -q | 0 all_threads_ms
limit 200 | ../small.onnx --data npy:../x.npy --duration 20ms | 0 fewer than the limit of 200
timeline line.json | ../small.onnx --duration 20ms | file line.json
accumulate fp16 | ../half.onnx --duration 20ms --cpu-mask c | 0 float16 sums are emulated
json out.json | ../small.onnx --duration 20ms | file out.json
csv out.csv | ../small.onnx --duration 20ms | file out.csv
html out.html | ../small.onnx --duration 20ms | file out.html
threads 3 | ../small.onnx --duration 20ms -v | 0 Workers:                           3
seed 5 | ../small.onnx --duration 20ms | elsewhere multi.bats
cpu-mask c | ../small.onnx --duration 20ms -v | 0 instruction sets: c
memory 1 | ../small.onnx --duration 20ms | 5 memory
progress bar | ../small.onnx --duration 20000s | 0 running
color always | ../nan.onnx --duration 20ms | 5 [31m
verbose - | ../small.onnx --duration 20ms | 0 of memory
quiet - | ../half.onnx --duration 20ms --accumulate fp16 --cpu-mask c | differs err
END
}

@test "options: dq-tune" {
  effects dq-tune <<'END'
time-limit 0.001s | ../no_inputs.onnx --threads 1 | elsewhere tune.bats
wisdom w | ../no_inputs.onnx --threads 1 | elsewhere tune.bats
conv direct | ../no_inputs.onnx --threads 1 | elsewhere tune.bats
batch 2 | ../no_inputs.onnx --threads 1 | elsewhere tune.bats
shape x=2,3,9,9 | ../small.onnx | 3 small.onnx
accumulate fp16 | ../no_inputs.onnx --threads 1 | elsewhere tune.bats
json out.json | ../no_inputs.onnx --threads 1 | file out.json
csv out.csv | ../no_inputs.onnx --threads 1 | file out.csv
html out.html | ../no_inputs.onnx --threads 1 | file out.html
exhaustive - | ../no_inputs.onnx --threads 1 | elsewhere tune.bats
resume - | ../no_inputs.onnx --threads 1 --wisdom none | 0 none: there is no such file yet
threads 1 | ../no_inputs.onnx | elsewhere tune.bats
seed 5 | ../no_inputs.onnx --threads 1 | inert
cpu-mask c | ../no_inputs.onnx --threads 1 -v | 0 instruction sets: c
memory 1 | ../small.onnx | 5 memory
progress bar | ../no_inputs.onnx --threads 1 | inert
color always | ../nan.onnx | 5 [31m
verbose - | ../no_inputs.onnx --threads 1 | 0 of memory
quiet - | ../no_inputs.onnx --threads 1 | differs err
END
}

@test "options: dq-cc" {
  effects dq-cc <<'END'
output there.c | ../small.onnx | file there.c
header there.h | ../small.onnx -o net.c | file there.h
name other | ../small.onnx -o - --header net.h -q | 0 int other_run(
name int | ../small.onnx -o net.c | 2 'int' is no name in C
shape x=2,3,8,8 | ../small.onnx -o net.c --json - -q | 0 "input_bytes": 1536
weights-file w.bin | ../small.onnx -o net.c | file w.bin
portable - | ../small.onnx -o net.c --weights-file w.bin | 2 --weights-file
target dsp | ../int8.onnx -o - --header net.h | 0 arm_acle.h
steps - | ../small.onnx -o net.c | 0 conv1
verify - | ../small.onnx -o net.c | 0 Elements that differ
run false | ../small.onnx -o net.c --verify | 5 did not run
compiler-flags -fno-such-flag | ../small.onnx -o net.c --verify | 5 -fno-such-flag
data npy:../x.npy | ../small.onnx -o net.c --verify | 0 Pictures compared:    6
limit 2 | ../small.onnx -o net.c --verify --data npy:../x.npy | 0 Pictures compared:    2
sample 2 | ../small.onnx -o net.c --verify --data npy:../x.npy | 0 Pictures compared:    2
batch 2 | ../small.onnx -o net.c --verify --data npy:../x.npy --json - | 0 "input_bytes": 1536
preset tf | ../small.onnx -o net.c --verify --data ../list.txt | 0 Pictures compared:    6
preset nonsense | ../small.onnx -o net.c --verify --data ../list.txt | 2 nonsense
preprocess resize=nonsense | ../small.onnx -o net.c --verify --data ../list.txt --preset tf | 2 nonsense
labels ../missing.txt | ../small.onnx -o net.c --verify --data ../pictures --preset tf | 5 missing.txt
norm ../missing.csv | ../small.onnx -o net.c --verify --data ../list.txt --preset lgg | 5 missing.csv
strict - | ../small.onnx -o net.c --verify --data ../broken.txt --preset tf | 3 broken.ppm
json out.json | ../small.onnx -o net.c | file out.json
csv out.csv | ../small.onnx -o net.c | file out.csv
html out.html | ../small.onnx -o net.c | file out.html
threads 3 | ../small.onnx -o net.c -v | 0 threads: 3
seed 5 | ../small.onnx -o net.c | inert
cpu-mask c | ../small.onnx -o net.c -v | 0 instruction sets: c
memory 1 | ../small.onnx -o net.c | 5 memory
progress bar | "$root/datasets/shapes.onnx" -o net.c --verify --data synth:shapes,count=60 --cpu-mask c --threads 1 | 0 running [
color always | ../nan.onnx -o net.c | 5 [31m
verbose - | ../small.onnx -o net.c | 0 of memory
quiet - | ../small.onnx -o net.c --verify --data ../broken.txt --preset tf | differs err
END
}

@test "options: dq-report" {
  effects dq-report <<'END'
ref ../small.onnx | ../int8.onnx --data npy:../x.npy | 0 Outputs against the reference
match-names - | ../small.onnx --ref ../odd_weights.onnx --data npy:../x.npy | 0 Compared layer by layer
overflow - | ../int8.onnx | 0 cannot overflow
channels - | ../int8.onnx --overflow | differs out
raw - | ../int8.onnx --overflow --data npy:../x.npy | differs out
min-sqnr 300 | ../int8.onnx --ref ../small.onnx --data npy:../x.npy | 1 less than 300 dB
min-agreement 101 | ../int8.onnx --ref ../small.onnx --data npy:../x.npy | 2 min-agreement
min-agreement 50 | ../int8.onnx --data npy:../x.npy | 2 --ref
max-overflow 0 | ../int8.onnx --overflow --data npy:../x.npy | 1 more than 0 %
max-overflow 101 | ../int8.onnx --overflow --data npy:../x.npy | 2 max-overflow
table ../table.json | ../small.onnx --data npy:../x.npy --html out.html | bytes out.html
sensitivity - | ../small.onnx --data npy:../x.npy | differs out
sort macs | ../small.onnx | differs out
sort nonsense | ../small.onnx | 2 nonsense
only relu1 | ../small.onnx | differs out
shape x=1,3,8,8 | ../open_channels.onnx | differs out
batch 4000 | ../small.onnx --data ../many.txt --memory 8M --preset tf | 5 memory
data ../list.txt | ../small.onnx --preset tf | 0 Accuracy
limit 2 | ../small.onnx --data ../list.txt --preset tf | differs out
sample 2 | ../small.onnx --data ../list.txt --preset tf | differs out
preset nonsense | ../small.onnx --data ../list.txt | 2 nonsense
preset tf | ../int8.onnx --ref ../small.onnx --data ../list.txt | 0 Outputs against
preprocess scale=0.5 | ../int8.onnx --ref ../small.onnx --data ../list.txt --preset tf | differs out
labels ../labels.txt | ../small.onnx --data ../pictures --preset tf | 0 Accuracy
norm ../missing.csv | ../small.onnx --data ../list.txt --preset lgg | 5 missing.csv
strict - | ../small.onnx --data ../broken.txt --preset tf | 3 broken.ppm
task none | ../small.onnx --data ../list.txt --preset tf | differs out
task detect | ../small.onnx --data ../list.txt --preset tf | 3 detect
decode nonsense | ../small.onnx --data ../list.txt --preset tf | 2 unknown decoder 'nonsense'
decode yolo | ../small.onnx --data ../list.txt --preset tf --overflow | 2 --decode
json out.json | ../small.onnx | file out.json
csv out.csv | ../small.onnx | file out.csv
html out.html | ../small.onnx | file out.html
accumulate fp16 | ../half.onnx --data ../list.txt --cpu-mask c --preset tf | 0 float16 sums are emulated
wisdom nowhere | ../small.onnx | 5 nowhere: No such file
no-wisdom - | ../small.onnx | elsewhere tune.bats
threads 3 | ../small.onnx -v | 0 threads: 3
seed 5 | ../int8.onnx --ref ../small.onnx --data synth:shapes,count=2,size=8 --task none | differs out
cpu-mask c | ../small.onnx -v | 0 instruction sets: c
memory 1 | ../small.onnx | 5 memory
progress bar | ../int8.onnx --ref ../small.onnx --data synth:shapes,count=60,size=8 --task none | 0 comparing [
color always | ../nan.onnx | 5 [31m
verbose - | ../small.onnx | 0 of memory
quiet - | ../small.onnx --data ../broken.txt --preset tf | differs err
END
}

@test "options: dq-amp" {
  effects dq-amp <<'END'
allow Relu | ../small.onnx -o o.onnx --explain | 0 --allow
deny Relu | ../small.onnx -o o.onnx | bytes o.onnx
follow Conv | ../small.onnx -o o.onnx | differs out
deny-node conv1 | ../small.onnx -o o.onnx | bytes o.onnx
policy ../policy.json | ../small.onnx -o o.onnx | bytes o.onnx
rounding nearest | ../small.onnx -o o.onnx | bytes o.onnx
guard off | ../loud.onnx -o o.onnx | 1 NaN or infinity where the float model has none
input-max 1e-6 | ../small.onnx -o o.onnx | bytes o.onnx
input-max 9 | ../small.onnx -o o.onnx --guard off --rounding nearest | 2 --input-max
keep-io - | ../small.onnx -o o.onnx --half-io | bytes o.onnx
half-io - | ../small.onnx -o o.onnx | bytes o.onnx
explain - | ../small.onnx -o o.onnx | 0 ALLOW
retrain false | ../small.onnx -o o.onnx | 1 retraining hook
data npy:there | ../small.onnx -o o.onnx --retrain 'echo "with $DQ_DATA" >&2' | 1 with npy:there
time-limit 0.1s | ../small.onnx -o o.onnx --retrain 'sleep 0.4' | 1 time limit of 0.1 s
check npy:../x.npy | ../small.onnx -o o.onnx | 0 6 pictures
limit 2 | ../small.onnx -o o.onnx --check npy:../x.npy | 0 2 pictures
preset nonsense | ../small.onnx -o o.onnx --check ../list.txt | 2 nonsense
preprocess scale=0.5 | ../small.onnx -o o.onnx --check ../list.txt --preset tf | differs out
norm ../missing.csv | ../small.onnx -o o.onnx --check ../list.txt --preset lgg | 5 missing.csv
min-sqnr 200 | ../small.onnx -o o.onnx | 1 less than 200 dB (--min-sqnr)
min-agreement 99 | "$models/no_inputs.onnx" -o o.onnx | 4 which --min-agreement needs
shape x=1,3,8,9 | ../small.onnx -o o.onnx | 3 dimension 3 is 8, given is 9
output o.onnx | ../small.onnx | file o.onnx
json out.json | ../small.onnx -o o.onnx | file out.json
csv out.csv | ../small.onnx -o o.onnx | file out.csv
html out.html | ../small.onnx -o o.onnx | file out.html
threads 3 | ../small.onnx -o o.onnx -v | 0 threads: 3
seed 5 | ../small.onnx -o o.onnx | bytes o.onnx
cpu-mask c | ../small.onnx -o o.onnx -v | 0 instruction sets: c
memory 1 | ../small.onnx -o o.onnx | 5 memory
progress bar | ../small.onnx -o o.onnx --check synth:shapes,count=60,size=8 | 0 checking [
color always | ../nan.onnx -o o.onnx | 5 [31m
verbose - | ../small.onnx -o o.onnx | 0 of memory
quiet - | ../small.onnx -o o.onnx --check ../broken.txt --preset tf | differs err
END
}

@test "options: dq-tucker" {
  effects dq-tucker <<'END'
ratio 0.5 | ../small.onnx -o o.onnx | file o.onnx
energy 0.5 | ../small.onnx -o o.onnx | file o.onnx
vbmf - | ../small.onnx -o o.onnx | file o.onnx
macs -20% | ../small.onnx -o o.onnx | file o.onnx
ranks ../ranks.json | ../small.onnx -o o.onnx | file o.onnx
max-drop 100 | ../small.onnx -o o.onnx --data ../list.txt --time-limit 2s --untimed --preset tf | file o.onnx
weaken 1 | ../small.onnx -o o.onnx --vbmf --force | bytes o.onnx
resume - | ../small.onnx -o o.onnx --data ../list.txt --max-drop 100 --untimed --preset tf | elsewhere tucker.bats
eval ../list.txt | ../small.onnx -o o.onnx --ratio 0.5 --preset tf | 0 Accuracy
eval-limit 3 | ../small.onnx -o o.onnx --ratio 0.5 --eval ../list.txt --preset tf | differs out
multiple 4 | ../small.onnx -o o.onnx --ratio 0.3 --force | bytes o.onnx
plain - | ../small.onnx -o o.onnx --ratio 0.5 --untimed --data ../list.txt --preset tf | bytes o.onnx
gemm - | ../small.onnx -o o.onnx --ratio 0.5 --force | bytes o.onnx
force - | ../small.onnx -o o.onnx --ratio 1 --untimed | bytes o.onnx
refine - | ../small.onnx -o o.onnx --ratio 0.5 --force | bytes o.onnx
untimed - | ../small.onnx -o o.onnx --ratio 0.5 | differs out
untimed - | ../small.onnx -o o.onnx --ranks ../ranks.json | 2 exclude each other
force - | ../small.onnx -o o.onnx --ranks ../ranks.json | 2 exclude each other
save-ranks r.json | ../small.onnx -o o.onnx --ratio 0.5 | file r.json
retrain false | ../small.onnx -o o.onnx --ratio 0.5 --force | 1 retraining hook
every 1 | ../small.onnx -o o.onnx --ratio 0.5 --force --retrain 'cp $DQ_MODEL $DQ_OUTPUT' | 0 layers 1 to 1
time-limit 0.1s | ../small.onnx -o o.onnx --ratio 0.5 --force --retrain 'sleep 0.4' | 1 time limit of 0.1 s
min-sqnr 200 | ../small.onnx -o o.onnx --ratio 0.5 --untimed | 1 less than 200 dB (--min-sqnr)
min-agreement 99 | ../small.onnx -o o.onnx --ratio 0.5 --untimed | 1 less than 99 % (--min-agreement)
shape x=1,3,8,9 | ../small.onnx -o o.onnx --ratio 0.5 --untimed | 3 dimension 3 is 8, given is 9
data ../list.txt | ../small.onnx -o o.onnx --ratio 0.5 --plain --preset tf | 0 Accuracy
limit 3 | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --untimed --preset tf | bytes o.onnx
sample 3 | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --untimed --preset tf | bytes o.onnx
fit-limit 3 | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --untimed --preset tf | bytes o.onnx
batch 20000 | ../small.onnx -o o.onnx --ratio 0.5 --data npy:../x.npy --memory 8M | 5 memory
preset nonsense | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt | 2 nonsense
preprocess scale=0.5 | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --untimed --preset tf | bytes o.onnx
labels ../labels.txt | ../small.onnx -o o.onnx --ratio 0.5 --data ../pictures --preset tf | 0 Accuracy
norm ../missing.csv | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --preset lgg | 5 missing.csv
strict - | ../small.onnx -o o.onnx --ratio 0.5 --data ../broken.txt --preset tf | 3 broken.ppm
task detect | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --preset tf | 3 detect
decode nonsense | ../small.onnx -o o.onnx --ratio 0.5 --data ../list.txt --preset tf | 2 unknown decoder 'nonsense'
output o.onnx | ../small.onnx --ratio 0.5 | file o.onnx
json out.json | ../small.onnx -o o.onnx --ratio 0.5 | file out.json
csv out.csv | ../small.onnx -o o.onnx --ratio 0.5 | file out.csv
html out.html | ../small.onnx -o o.onnx --ratio 0.5 | file out.html
threads 3 | ../small.onnx -o o.onnx --ratio 0.5 -v | 0 threads: 3
seed 5 | ../small.onnx -o o.onnx --ratio 0.5 --data synth:shapes,count=8,size=8 --untimed | bytes o.onnx
cpu-mask c | ../small.onnx -o o.onnx --ratio 0.5 -v | 0 instruction sets: c
memory 1 | ../small.onnx -o o.onnx --ratio 0.5 | 5 memory
progress bar | "$root/datasets/shapes.onnx" -o o.onnx --ratio 0.5 --untimed --eval synth:shapes,count=60 | 0 accuracy [
color always | ../nan.onnx -o o.onnx --ratio 0.5 | 5 [31m
verbose - | ../small.onnx -o o.onnx --ratio 0.5 | 0 of memory
quiet - | ../small.onnx -o o.onnx --ratio 0.5 --data ../broken.txt --untimed --preset tf | differs err
END
}

@test "options: dq-int8" {
  effects dq-int8 <<'END'
method entropy | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
percentile 99 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
percentile 90 | ../small.onnx -o o.onnx --data npy:../x.npy --method minmax | 2 --percentile
table t.json | ../small.onnx -o o.onnx --data npy:../x.npy | file t.json
table-format ncnn | ../small.onnx -o o.onnx --data npy:../x.npy --table t.json | bytes t.json
use-table ../table.json | ../small.onnx -o o.onnx | file o.onnx
use-table ../table.json | ../small.onnx -o o.onnx --data npy:../x.npy --method minmax | 2 exclude each other
bias-correction on | ../small.onnx -o o.onnx --use-table ../table.json | 2 exclude each other
force - | ../small.onnx -o o.onnx --data npy:../x.npy --use-table ../other.json | file o.onnx
equalize off | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
bias-correction off | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
bias-absorption on | ../high_bias.onnx -o o.onnx --data synth:shapes,count=8,size=8 --equalize off | elsewhere int8.bats
range-search on | ../small.onnx -o o.onnx --data npy:../x.npy -v | elsewhere int8.bats
accumulator int16 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
rounding adaptive | ../small.onnx -o o.onnx --data synth:shapes,count=24,size=8 | 0 Layers not rounded to nearest
per-tensor - | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
activations s8 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
format qoperator | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
symmetric - | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
precision ../precision.json | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
overflow - | ../small.onnx -o o.onnx --data npy:../x.npy | differs out
save-precision p.json | ../small.onnx -o o.onnx --data npy:../x.npy | file p.json
min-sqnr 200 | ../small.onnx -o o.onnx --data npy:../x.npy | 1 --min-sqnr
min-agreement 100 | ../small.onnx -o o.onnx --data npy:../x.npy --per-tensor --percentile 50 --all-int8 | 1 --min-agreement
all-int8 - | ../small.onnx -o o.onnx --data npy:../x.npy --per-tensor --percentile 50 --max-float 100% | bytes o.onnx
max-float 0% | ../small.onnx -o o.onnx --data synth:shapes,count=16,size=8 --percentile 50 | 1 at most 0 %
max-drop 0 | ../small.onnx -o o.onnx --data npy:../x.npy --per-tensor --method minmax | 0 --max-drop
exclude conv1 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
only conv1 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
operators Gemm | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
eval ../list.txt | ../small.onnx -o o.onnx --data npy:../x.npy --preset tf | 0 Accuracy
eval-limit 3 | ../small.onnx -o o.onnx --data npy:../x.npy --eval ../list.txt --preset tf | differs out
time-limit 0.1s | ../small.onnx -o o.onnx --data npy:../x.npy --retrain 'sleep 0.4' | 1 time limit of 0.1 s
retrain false | ../small.onnx -o o.onnx --data npy:../x.npy | 1 retraining hook
shape x=1,3,8,9 | ../small.onnx -o o.onnx --data npy:../x.npy | 3 small.onnx
data npy:../x.npy | ../small.onnx -o o.onnx | file o.onnx
limit 3 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
sample 3 | ../small.onnx -o o.onnx --data npy:../x.npy | bytes o.onnx
batch 20000 | ../small.onnx -o o.onnx --data npy:../x.npy --memory 8M | 5 memory
preset nonsense | ../small.onnx -o o.onnx --data ../list.txt | 2 nonsense
preprocess scale=0.5 | ../small.onnx -o o.onnx --data ../list.txt --preset tf | bytes o.onnx
labels ../labels.txt | ../small.onnx -o o.onnx --data ../pictures --preset tf | 0 Accuracy
norm ../missing.csv | ../small.onnx -o o.onnx --data ../list.txt --preset lgg | 5 missing.csv
strict - | ../small.onnx -o o.onnx --data ../broken.txt --preset tf | 3 broken.ppm
task detect | ../small.onnx -o o.onnx --data ../list.txt --preset tf | 3 detect
decode nonsense | ../small.onnx -o o.onnx --data ../list.txt --preset tf | 2 unknown decoder 'nonsense'
output o.onnx | ../small.onnx --data npy:../x.npy | file o.onnx
json out.json | ../small.onnx -o o.onnx --data npy:../x.npy | file out.json
csv out.csv | ../small.onnx -o o.onnx --data npy:../x.npy | file out.csv
html out.html | ../small.onnx -o o.onnx --data npy:../x.npy | file out.html
threads 3 | ../small.onnx -o o.onnx --data npy:../x.npy -v | 0 threads: 3
seed 5 | ../small.onnx -o o.onnx --data synth:shapes,count=8,size=8 --all-int8 | bytes o.onnx
cpu-mask c | ../small.onnx -o o.onnx --data npy:../x.npy -v | 0 instruction sets: c
memory 1 | ../small.onnx -o o.onnx --data npy:../x.npy | 5 memory
progress bar | ../small.onnx -o o.onnx --data synth:shapes,count=60,size=8 --equalize off | 0 calibrating [
color always | ../nan.onnx -o o.onnx --data npy:../x.npy | 5 [31m
verbose - | ../small.onnx -o o.onnx --data npy:../x.npy | 0 of memory
quiet - | ../small.onnx -o o.onnx --data ../broken.txt --preset tf | differs err
END
}

@test "options: dq-train" {
  effects dq-train <<'END'
val ../list.txt | ../small.onnx -o o.onnx --data ../list.txt --preset tf --epochs 2 --batch 2 --keep last | file o.onnx
val-limit 2 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | differs out
batch 3 | ../small.onnx -o o.onnx --data ../many.txt --preset tf --val ../list.txt --epochs 1 --keep last | bytes o.onnx
epochs 3 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --batch 2 --keep last | bytes o.onnx
lr 0.001 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
schedule step | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
schedule nonsense | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 2 nonsense
warmup 0.7 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
optimizer adam | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
momentum 0 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
weight-decay 0.1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
label-smoothing 0.1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
augment flip | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
augment nonsense | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 2 nonsense
freeze conv1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
freeze-statistics - | "$root/datasets/shapes.onnx" -o o.onnx --data synth:shapes,count=16 --val synth:shapes,count=8 --batch 16 --epochs 1 --lr 1e-7 --keep last | bytes o.onnx
teacher ../odd_weights.onnx | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
temperature 3 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --teacher ../odd_weights.onnx | bytes o.onnx
temperature 3 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 2 --teacher
feature-loss 2 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --lr 0.0001 --teacher ../odd_weights.onnx | bytes o.onnx
feature-loss 2 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 2 --teacher
feature-loss -1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --teacher ../odd_weights.onnx | 2 -1
qat int8 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 3 dq-int8 MODEL
qat nonsense | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 2 nonsense
checkpoint state | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | file state/checkpoint
resume - | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --checkpoint state | 0 state/checkpoint does not exist
time-limit 0.0000001s | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 0 The time limit ended the training
shape x=2,3,8,9 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 3 x
data ../list.txt | ../small.onnx -o o.onnx --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | file o.onnx
limit 4 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
sample 4 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
preset nonsense | ../small.onnx -o o.onnx --data ../list.txt --val ../list.txt --epochs 2 --batch 2 --keep last | 2 nonsense
preprocess scale=0.5 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
labels ../labels.txt | ../small.onnx -o o.onnx --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --data ../pictures | 0 top-1
norm ../missing.csv | ../small.onnx -o o.onnx --data ../list.txt --preset lgg --val ../list.txt --epochs 2 --batch 2 --keep last | 5 missing.csv
strict - | ../small.onnx -o o.onnx --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --data ../broken.txt | 3 broken.ppm
output o.onnx | ../small.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | file o.onnx
json out.json | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | file out.json
csv out.csv | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | file out.csv
html out.html | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | file out.html
threads 3 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last -v | 0 threads: 3
seed 5 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | bytes o.onnx
cpu-mask c | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last -v | 0 instruction sets: c
memory 1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 5 memory
progress bar | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --batch 2 --keep last --epochs 60 | 0 training: epoch
color always | --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last ../nan.onnx -o o.onnx | 5 [31m
verbose - | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | 0 of memory
quiet - | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last | differs err
keep last | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 6 --batch 2 --lr 0.3 | bytes o.onnx
patience 1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 9 --batch 2 --keep last | 0 no further epoch
checkpoint-every 1 | ../small.onnx -o o.onnx --data ../list.txt --preset tf --val ../list.txt --epochs 2 --batch 2 --keep last --checkpoint state | elsewhere train.bats
END
}
