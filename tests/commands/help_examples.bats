# The examples of help and manual pages, as they are printed, on files that have the names in them. What would take long is
# made short: times, numbers of epochs and of runs.
load common


setup() {
  own_folder
  cat >net.model <<'END'
input x -1 3 32 32
a = Conv x w(8,3,3,3) b(8) strides=4,4 pads=1,1,1,1
b = Relu a
c = Conv b w(16,8,3,3) b(16) pads=1,1,1,1
d = Relu c
e = GlobalAveragePool d
f = Flatten e
head = Gemm f w(10,16) b(10) transB=1
output head -1 10
END
  make_models --describe net.model model.onnx
  make_models --array x.npy 2 3 32 32
  mkdir pictures others calib out
  local i bytes
  for ((i = 0; i < 64; i++)); do
    printf 'P6\n32 32\n255\n' >"p$i.ppm"
    bytes=$(printf "$((i * i + 7)) picture $i\n%.0s" {1..400})
    printf '%s' "${bytes:0:3072}" >>"p$i.ppm"
    echo "p$i.ppm $((i % 10))"
  done >train.txt
  for list in eval calib test labelled; do cp train.txt $list.txt; done
  for folder in pictures others calib; do cp p*.ppm $folder; done
  for ((i = 0; i < 32; i++)); do
    printf "\\x0$((i % 4))"
    head -c 3072 /dev/zero | tr '\0' "$((i % 10))"
  done >a.bin
  for batch in b c; do cp a.bin $batch.bin; done
  echo 'localhost slots=8' >hosts
  printf '#!/bin/sh\nexec cp "$DQ_MODEL" "$DQ_OUTPUT"\n' >train.py
  for name in a b c d camera background; do cp model.onnx $name.onnx; done
  dq-int8 model.onnx --data pictures/ --preset imagenet -o int8.onnx -q >/dev/null
  dq-tucker model.onnx --macs -20% --untimed -o small.onnx -q >/dev/null
}

# examples VERB: the commands of its help, one on a line
examples() {
  "dq-$1" --help | sed -n '/^Examples:$/,/^$/p' | sed -e '1d' -e 's/^  //' | sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
    grep -vE '^(#|$)'
}

# shortened LINE: the same with times, epochs and runs of a test
shortened() {
  sed -E 's/--time-limit [0-9]+[mh]/--time-limit 0.5s/; s/--duration [0-9]+s/--duration 0.2s/; s/--epochs [0-9]+/--epochs 2/
    s/--runs [0-9]+/--runs 6/; s/^mpirun/mpirun --allow-run-as-root --oversubscribe/; s/python3 train.py/sh train.py/
    s/^(dq-multi [^-]*(--policy priority|--timeline [a-z.]+))$/\1 --duration 0.2s/; s/^dq-tune model.onnx$/& --time-limit 0.5s/
    s/^dq-train .*(cifar10:|teacher)[^-]*.*/& --epochs 2/; s/^(dq-mix .*)/\1 --time-limit 1s/; s/^dq-bench .*/& --no-wisdom/
    s/(--no-wisdom.*) --no-wisdom/\1/' <<<"$1"
}

# missing LINE: whether a program of the line is missing
missing() {
  case $1 in
  mpirun*) ! command -v mpirun >/dev/null || [[ ! -e $build/dq-mpi.so ]] || return 1 ;;
  *aarch64*) ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null || return 1 ;;
  *) return 1 ;;
  esac
}

@test "every example of help ends as it says" {
  local verb line count=0 noisy=0 left=0 lines
  for verb in $verbs; do
    lines=$(examples "$verb")
    [[ $lines ]]
    while IFS= read -r line; do
      count=$((count + 1))
      if missing "$line"; then
        left=$((left + 1))
        continue
      fi
      run --separate-stderr bash -c "$(shortened "$line")"
      [[ $status -ne 1 || $stderr != *noisy* ]] || noisy=$((noisy + 1))
      # 1: the machine is too noisy, or a network of random weights holds no bound on its accuracy
      [[ $status -eq 0 || ($status -eq 1 && $verb == @(int8|tucker|train|mix|tune|bench)) ]] || {
        printf '%s: status %s\n%s\n' "$line" "$status" "$stderr"
        return 1
      }
    done <<<"$lines"
  done
  [ "$count" -ge 30 ]
  if ((left + noisy)); then echo "# SKIP $left of $count examples need programs that are missing, $noisy a quiet machine" >&3; fi
}
