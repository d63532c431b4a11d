# Processes of an MPI job that were not given the same work: one sentence, an end, and no file. Skipped without MPI.
load common
load processes

setup() {
  own_folder
  needs_mpi
  cp "$root/datasets/shapes.onnx" m.onnx
  make_models --describe "$root/tests/snapshots/gates.model" other.onnx
  printf '#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then eval "$FIRST"; else eval "$SECOND"; fi\n' >each
  chmod +x each
  data="--data synth:shapes,count=32 --val synth:shapes,count=16"
  train="dq-train m.onnx $data --batch 16 --epochs 1 --keep last --threads 1 -q"
}

# both STATUS COMMAND COMMAND: a job of two processes with a command for each, which ends in time
both() {
  export FIRST=$2 SECOND=$3
  run --separate-stderr timeout 50 "${mpirun[@]}" -n 2 ./each
  [ "$status" -eq "$1" ] && return
  printf '%s | %s: status %s, expected %s\n%s\n%s\n' "$2" "$3" "$status" "$1" "$output" "$stderr"
  return 1
}

# differs STATUS TEXT COMMAND COMMAND: one sentence of dq, no output, and nothing of the insides of Open MPI
differs() {
  both "$1" "$3" "$4"
  has "process 1 of 2: $2"
  [ "$(grep -c '^dq-' <<<"$stderr")" -eq 1 ]
  [ "$(grep -c 'MPI_ERR\|MPI_ABORT\|ORTE_ERROR' <<<"$stderr")" -eq 0 ]
  [ ! -e a.onnx ]
  [ ! -e b.onnx ]
}

@test "another option, command, model or number of pictures on one process" {
  differs 2 "--lr is 0.001, on process 0 it is not given" "$train -o a.onnx" "$train -o b.onnx --lr 0.001"
  differs 2 "--augment is flip, on process 0 it is cutout=3" "$train -o a.onnx --augment cutout=3" \
    "$train -o b.onnx --augment flip"
  differs 2 "--seed is 7, on process 0 it is 0" "$train -o a.onnx" "$train -o b.onnx --seed 7"
  differs 2 "--freeze-statistics is given, on process 0 it is not given" "$train -o a.onnx" \
    "$train -o b.onnx --freeze-statistics"
  differs 2 "--checkpoint is given, on process 0 it is not given" "$train -o a.onnx" "$train -o b.onnx --checkpoint c"
  differs 2 "option '--lr': 'x' is not a number" "$train -o a.onnx" "$train -o b.onnx --lr x"
  differs 2 "the command is dq-report, on process 0 it is dq-train" "$train -o a.onnx" "dq-report m.onnx"
  differs 2 "the number of models is 0, on process 0 it is 1" "$train -o a.onnx" "dq-train --version"
  differs 2 "--val is synth:shapes,count=8," "$train -o a.onnx" "${train/count=16/count=8} -o b.onnx"
  differs 3 "the model is 'other.onnx' with hash" "$train -o a.onnx" "${train/m.onnx/other.onnx} -o b.onnx"
  differs 3 "--teacher is 'other.onnx' with hash" "$train -o a.onnx --teacher m.onnx" "$train -o b.onnx --teacher other.onnx"
  differs 5 "missing.onnx: No such file" "$train -o a.onnx" "${train/m.onnx/missing.onnx} -o b.onnx"
  differs 2 "--percentile is 99.999, on process 0 it is 99.999" "dq-int8 m.onnx ${data%% --val*} -o a.onnx -q" \
    "dq-int8 m.onnx ${data%% --val*} -o b.onnx -q --percentile 99.999"
  differs 2 "the number of models is 2, on process 0 it is 1" "dq-report m.onnx" "dq-report m.onnx m.onnx"
}

# pictures FOLDER: four pictures of two classes
pictures() {
  mkdir -p "$1/x" "$1/y"
  for i in 0 1 2 3; do printf 'P6\n8 8\n255\n%192s' $i >"$1/$([ $i -lt 2 ] && echo x || echo y)/$i.ppm"; done
}

@test "other pictures, labels and external data on one process" {
  pictures one
  run="dq-int8 m.onnx --preset cifar-raw -q"
  for change in "echo >>two/x/1.ppm" "mv two/x/1.ppm two/x/5.ppm" "rm two/x/1.ppm" "mv two/y two/z"; do
    rm -rf two
    pictures two
    eval "$change"
    both 3 "$run --data one -o a.onnx" "$run --data two -o b.onnx"
    has "process 1 of 2: "
    [ "$(grep -c '^dq-int8: ' <<<"$stderr")" -eq 1 ]
    [ ! -e a.onnx ]
  done
  rm -rf two
  pictures two
  printf 'one/x/0.ppm 0\none/y/3.ppm 1\n' >a.txt
  printf 'one/x/0.ppm 1\none/y/3.ppm 1\n' >b.txt
  differs 3 "picture 1 of --data, 'one/x/0.ppm', has another label" "$run --data a.txt -o a.onnx" "$run --data b.txt -o b.onnx"
  tac a.txt >c.txt
  differs 3 "picture 1 of --data, 'one/y/3.ppm', has another name" "$run --data a.txt -o a.onnx" "$run --data c.txt -o b.onnx"
  make_models --array n.npy 4 3 32 32
  cp n.npy o.npy
  printf x | dd of=o.npy bs=1 seek=20000 conv=notrunc status=none
  differs 3 "picture 2 of --data, 'o.npy#1', has other contents" "$run --data npy:n.npy -o a.onnx" "$run --data npy:o.npy -o b.onnx"
}

@test "places, spellings, orders and defaults may differ" {
  mkdir far
  cp m.onnx far/n.onnx
  own="$data --epochs 1 --lr 1e-12 --threads" # what is written is as good as the model
  export FIRST="dq-train m.onnx --batch 16 --keep last -o a.onnx --freeze /stem/\\* --freeze \\*conv\\* -q $own 1"
  export SECOND="dq-train --freeze=\\*conv\\* far/n.onnx --sched cosine --batch-size 16 -v --freeze /stem/\\* --keep last -o far/b.onnx $own 2"
  run --separate-stderr timeout 50 "${mpirun[@]}" -n 2 ./each
  [ "$status" -le 1 ]
  [ -e a.onnx ]
  [ ! -e far/b.onnx ]
}

# Another program that ends well before it joins the job: without a limit the first process would wait for ever. The
# first process begins later, as Open MPI ends a job by itself when a process ends while others are in it.
@test "a process that never joins is given a minute" {
  export FIRST="sleep 5; $train -o a.onnx" SECOND="true"
  run --separate-stderr timeout 300 "${mpirun[@]}" -n 2 ./each
  [ "$status" -eq 5 ]
  has "dq-train: the other processes of the MPI job have not started within 60 s"
  [ ! -e a.onnx ]
}
