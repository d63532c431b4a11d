# dq-train --resume: what a checkpoint belongs to. Every option is either a part of its settings, so that another value
# of it is refused, or changes nothing that was trained so far.
load common

setup() {
  own_folder
  printf '%s\n' 'input x -1 3 -2 -2' 'c = Conv x w(8,3,3,3) b(8) strides=2,2' 'r = Relu c' 'g = GlobalAveragePool r' \
    'f = Flatten g' 'y = Gemm f w(8,8) b(8) transB=1' 'output y -1 8' >open.model
  make_models --describe open.model open.onnx
}

# pictures FOLDER: eight small pictures of two patients, half of them green
pictures() {
  mkdir "$1"
  for i in 0 1 2 3 4 5 6 7; do
    printf 'P6\n8 8\n255\n' >"$1/p$((i % 2))_$i.ppm"
    printf '%192s' | tr ' ' "\\$((100 + i))" >>"$1/p$((i % 2))_$i.ppm"
    echo "p$((i % 2))_$i.ppm $((i % 4))"
  done >"$1/list.txt"
}

# starts WORDS...: a training that stops after one step, with a checkpoint
starts() {
  rm -rf state
  base=("$@")
  dq-train "$@" --checkpoint state --time-limit 0.0001s -o o.onnx -q >/dev/null || [ $? -eq 1 ] # it may be worse
  cp state/checkpoint kept
}

# line_with OPTION [VALUE]: in `line` the words that were started, with this option in place of theirs
line_with() {
  local i
  line=()
  for ((i = 0; i < ${#base[@]}; i++)); do
    if [ "${base[i]}" = "$1" ]; then i=$((i + 1)); else line+=("${base[i]}"); fi
  done
  line+=("$@" --checkpoint state --resume -o o.onnx)
  seen+=("${1#--}")
}

# refused OPTION [VALUE]: the checkpoint is of another training than this one
refused() {
  line_with "$@"
  gives 3 dq-train "${line[@]}"
  has "state/checkpoint: the checkpoint is of another training: "
}

# taken OPTION [VALUE]: the training goes on
taken() {
  line_with "$@"
  run --separate-stderr dq-train "${line[@]}"
  [ "$status" -le 1 ]
  [ "$1" = --quiet ] || has "continues after step"
  cp kept state/checkpoint
}

@test "each option of dq-train belongs to the checkpoint, or changes nothing in it" {
  seen=()
  words=(open.onnx --data synth:shapes,count=32,split=train --val synth:shapes,count=16 --batch 8 --epochs 2 --lr 1e-5)
  starts "${words[@]}"
  refused --data synth:shapes,count=40,split=train
  refused --data synth:shapes,count=32,split=train,noise=20
  refused --val synth:shapes,count=17
  refused --limit 24
  refused --sample 24
  refused --val-limit 8
  refused --shape x=N,3,16,16
  refused --preset cifar-raw
  refused --preprocess scale=0.01
  refused --batch 16
  refused --epochs 3
  refused --schedule poly
  refused --warmup 1
  refused --optimizer adam
  refused --momentum 0.5
  refused --weight-decay 0.1
  refused --label-smoothing 0.1
  refused --augment flip
  refused --freeze c
  refused --freeze-statistics
  refused --teacher open.onnx
  refused --seed 5
  taken --lr 1e-6
  taken --shape x=N,3,32,32
  taken --keep last
  taken --patience 1
  taken --time-limit 1h
  taken --checkpoint-every 1
  taken --strict
  for file in json csv html; do taken --$file facts.$file; done
  taken --threads 2
  taken --cpu-mask c
  taken --memory 1G
  taken --progress none
  taken --color never
  taken --verbose
  taken --quiet
  starts "${words[@]}" --teacher open.onnx --temperature 2
  refused --temperature 3
  refused --feature-loss 1

  dq-int8 open.onnx --data synth:shapes,count=8 --only c -o int8.onnx -q >/dev/null
  starts int8.onnx "${words[@]:1}" --optimizer adam
  refused --qat int8

  pictures a
  sed 's/0$/1/' a/list.txt >b.txt
  printf 'patient,p10,p99,mean_r,mean_g,mean_b,std_r,std_g,std_b\n%s\n%s\n' p0,1,250,1,2,3,4,5,6 p1,1,250,1,2,3,4,5,6 >norm.csv
  sed 's/250/200/' norm.csv >other.csv
  starts open.onnx --data a --labels a/list.txt --val a/list.txt --batch 4 --epochs 2 --preset lgg --norm norm.csv --shape x=N,3,8,8
  refused --labels b.txt
  refused --norm other.csv

  # What is left are the names of what is read, written and asked.
  dq-train --help | grep -oE '^ +(-., )?--[a-z-]+' | sed 's/.*--//' | sort -u >all
  printf '%s\n' "${seen[@]}" checkpoint resume output help version | sort -u | diff all -
}
