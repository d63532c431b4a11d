# Libraries that are loaded when something first needs them, and the static program, which loads none.
load common

eval "common_$(declare -f setup_file)"
setup_file() {
  common_setup_file
  if ! sanitized; then
    make -s -C "$root" B="$build" static >&2 || return
  fi
}

@test "a command that decomposes no matrix of more than 1024 rows loads neither OpenBLAS nor MPI" {
  gives 0 ldd "$build/dq"
  [[ $output != *openblas* && $output != *lapack* && $output != *libmpi* && $output == *libprotobuf-c* ]]
  gives 0 env LD_DEBUG=files dq-run "$models/small.onnx" --data "npy:$x"
  [[ $stderr != *openblas* ]]
  gives 0 env LD_DEBUG=files dq-tucker "$root/datasets/shapes.onnx" --macs -25% --data synth:shapes,count=32 -o t.onnx -q
  [[ $stderr != *openblas* && $stderr != *lapack* ]]
  gives 0 env LD_DEBUG=files dq-tucker "$models/wide.onnx" --energy 0.5 -o t.onnx -q
  [[ $stderr == *"generating link map"* && $stderr == *openblas* && $stderr == *lapacke* ]]
}

@test "dq --version takes some milliseconds beside other work, and at most 6 MB" {
  if sanitized; then skip "the shadow memory is resident"; fi
  local program milliseconds TIMEFORMAT="%3U %3S"
  for program in "$build/dq" "$build/static/dq"; do
    milliseconds=$({ time for i in {1..50}; do "$program" --version >/dev/null; done; } 2>&1 | awk '{ print int(($1 + $2) * 1000 / 50) }')
    echo "$program: $milliseconds ms"
    ((milliseconds <= 5))
    if [[ -x /usr/bin/time ]]; then
      gives 0 /usr/bin/time -f %M "$program" --version
      ((stderr <= 6000))
    fi
  done
}

@test "without OpenBLAS a decomposition of a large matrix ends with 5 and a hint" {
  mkdir none
  echo none >none/libopenblas.so.0
  gives 5 env LD_LIBRARY_PATH="$PWD/none" dq-tucker "$models/wide.onnx" --energy 0.5 -o t.onnx
  has "OpenBLAS and LAPACKE cannot be loaded: "
  has "hint: decompositions of matrices with more than 1024 rows and columns need both: apt-get install libopenblas0-pthread liblapacke"
  only none
  gives 0 env LD_LIBRARY_PATH="$PWD/none" dq-tucker "$root/datasets/shapes.onnx" --energy 0.9 -o t.onnx
  gives 0 env LD_LIBRARY_PATH="$PWD/none" dq-run "$models/small.onnx" --data "npy:$x"
  gives 0 env LD_LIBRARY_PATH="$PWD/none" dq-run "$models/small.onnx" --data "npy:$x" --conv im2col-openblas
}

@test "a process of an MPI job without MPI ends with 4" {
  cp "$build/dq" dq
  gives 4 env OMPI_COMM_WORLD_SIZE=2 ./dq int8 "$root/datasets/shapes.onnx" --data synth:shapes -o a.onnx
  has "this is one of 2 processes of an MPI job, and dq was built without MPI"
  echo none >dq-mpi.so
  gives 5 env OMPI_COMM_WORLD_SIZE=2 ./dq int8 "$root/datasets/shapes.onnx" --data synth:shapes -o a.onnx
  has "MPI cannot be loaded: "
  only dq dq-mpi.so
}

@test "the static program needs no library and writes the same bytes in an empty folder" {
  if sanitized; then skip "a static program has no sanitizer"; fi
  gives 0 readelf -d "$build/static/dq"
  has "There is no dynamic section in this file."
  (($(stat -c %s "$build/static/dq") <= 12000000))
  mkdir empty
  cp "$build/static/dq" "$root/datasets/shapes.onnx" empty/
  local line="int8 shapes.onnx --data synth:shapes -o int8.onnx -q"
  if ((EUID == 0)); then gives 0 chroot empty /dq $line; else (cd empty && env -i ./dq $line); fi
  gives 0 dq-int8 empty/shapes.onnx --data synth:shapes -o int8.onnx -q
  cmp int8.onnx empty/int8.onnx
  line="--macs -25% --untimed --data synth:shapes,count=64"
  gives 0 "$build/static/dq" tucker empty/shapes.onnx $line -o tucker.onnx
  has "convolutions decomposed"
  gives 0 dq-tucker empty/shapes.onnx $line -o empty/tucker.onnx
  cmp tucker.onnx empty/tucker.onnx
  gives 0 "$build/static/dq" tucker "$models/wide.onnx" --energy 0.5 -o wide.onnx
  gives 4 env OMPI_COMM_WORLD_SIZE=2 "$build/static/dq" int8 empty/shapes.onnx --data synth:shapes -o a.onnx
  has "hint: a static program has no MPI; the Debian package and the source have"
}

@test "the static program needs no call that came after Linux 4.18" {
  if sanitized; then skip "a static program has no sanitizer"; fi
  # Runs a command whose later calls fail with ENOSYS: their numbers begin with 424 (Linux 5.1) on every machine.
  cat >old.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 424, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, rules};
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 125;
  if (syscall(434 /* pidfd_open */, getpid(), 0) != -1 || errno != ENOSYS) return 124;
  execv(argv[1], argv + 1);
  return 126;
}
END
  gives 0 cc -o old old.c
  local words="--data synth:shapes,count=32 --threads 2 -q"
  gives 0 ./old "$build/static/dq" int8 "$root/datasets/shapes.onnx" $words -o old.onnx
  gives 0 dq-int8 "$root/datasets/shapes.onnx" $words -o here.onnx
  cmp old.onnx here.onnx
  gives 0 ./old "$build/static/dq" tucker "$root/datasets/shapes.onnx" --energy 0.9 -o tucker.onnx
  gives 0 readelf -n "$build/static/dq"
  local least
  least=$(sed -n 's/.*OS: Linux, ABI: //p' <<<"$output")
  [[ $(printf '%s\n' "$least" 4.18.0 | sort -V | tail -n 1) == 4.18.0 && $least == *.*.* ]]
}

@test "bills of materials name the libraries that the programs have" {
  if ! dpkg-query -W libprotobuf-c-dev >/dev/null; then skip "no packages of Debian to ask for versions"; fi
  make -s -C "$root" B="$build" sbom
  gives 0 python3 - "$build/packages/dq-static.cdx.json" "$build/packages/dq-shared.cdx.json" <<'END'
import json, sys
for path in sys.argv[1:]:
    bill = json.load(open(path))
    assert bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.6", bill
    print(bill["metadata"]["component"]["version"], *(f'{c["name"]}={c["version"]}' for c in bill["components"]))
END
  [[ ${lines[0]} == *" protobuf-c="*" LAPACK="*" libgfortran="* && ${lines[0]} != *OpenBLAS* ]]
  [[ ${lines[1]} == *" protobuf-c="*" OpenBLAS="* && ${lines[1]} != *libgfortran* ]]
  [[ ${lines[0]} == "$(dq --version | cut -d' ' -f2) "* ]]
  local name
  for name in protobuf-c jansson; do
    [[ $output == *" $name=$(pkg-config --modversion "$([[ $name == jansson ]] && echo jansson || echo "lib$name")") "* ]]
  done
}
