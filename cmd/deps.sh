#!/bin/sh
# make deps: finds what the build and the tests need and installs what is missing with apt-get.
# With the argument "fuzz", "aarch64", "machines", "emitted", "steps", "deb" or "container" also what only fuzzing, the kernels of
# AArch64, the C of dq-cc on other machines, the checks of tests/emitted, the comparison with PyTorch, Debian packages or
# containers need.
# On a system without apt-get: says in one line what is missing and fails.
set -u
purpose=${1:-}
missing=
packages=
need() { # WHAT PACKAGE...: one more thing is missing
  missing="$missing${missing:+, }$1"
  shift
  for package in "$@"; do
    case " $packages " in *" $package "*) ;; *) packages="$packages $package" ;; esac
  done
}
have() { command -v "$1" >/dev/null 2>&1; }
library() { # MODULE PACKAGE: a library by pkg-config, which may be absent itself
  have pkg-config && pkg-config --exists "$1" || need "$1" "$2"
}
static_library() { # FILE PACKAGE: in the folder of libraries of Debian
  have gcc && [ -f "/usr/lib/$(gcc -print-multiarch)/$1" ] || need "$1" "$2"
}
fuzzer_links() {
  program=$(mktemp) && printf 'int LLVMFuzzerTestOneInput(const char *d, long n){return d[0] == n;}\n' |
    clang -fsanitize=address,undefined,fuzzer -x c -o "$program" - 2>/dev/null
  linked=$?
  rm -f "$program"
  return $linked
}
cross_links() { # TRIPLE: its compiler finds a C library
  have "$1-gcc" && printf 'int main(void){return 0;}\n' | "$1-gcc" -x c -o /dev/null - 2>/dev/null
}
cross() { # TRIPLE ARCHITECTURE: compiler, C library and emulator of another machine
  cross_links "$1" || need "a compiler for $2" "gcc-$1" "libc6-dev-$2-cross"
  have "qemu-${1%%-*}" || have "qemu-${1%%-*}-static" || need "qemu-${1%%-*}" qemu-user
}
check() {
  missing=
  packages=
  have gcc && printf 'int main(void){return 0;}\n' | gcc -x c -o /dev/null - 2>/dev/null ||
    need gcc gcc libc6-dev
  have make || need make make
  have pkg-config || need pkg-config pkg-config
  library libprotobuf-c libprotobuf-c-dev
  { have pkg-config && { pkg-config --exists lapacke || pkg-config --exists lapack; } &&
    printf '#include <lapacke.h>\n' |
    gcc $(pkg-config --cflags lapacke 2>/dev/null) -E - >/dev/null 2>&1; } || need lapacke liblapacke-dev
  library openblas libopenblas-dev
  # What a static program holds.
  static_library blas/libblas.a libblas-dev
  static_library lapack/liblapack.a liblapack-dev
  have gcc && [ -f "$(gcc -print-file-name=libgfortran.a)" ] || need libgfortran.a gfortran
  library jansson libjansson-dev
  library expat libexpat1-dev
  library yaml-0.1 libyaml-dev
  library libxxhash libxxhash-dev
  library stb libstb-dev
  # Processes of MPI jobs: the module that they load, and what starts them in the tests.
  library ompi-c libopenmpi-dev
  have mpirun || need mpirun openmpi-bin
  library cmocka libcmocka-dev
  # A program in C++ that uses the library, arrays for the Python module, and its types.
  have g++ || need g++ g++
  /usr/bin/python3 -c 'import numpy' 2>/dev/null || need numpy python3-numpy
  have mypy || need mypy mypy
  have protoc-c || need protoc-c protobuf-c-compiler
  [ -f /usr/include/onnx/onnx.proto ] || need /usr/include/onnx/onnx.proto libonnx-dev
  have bats || need bats bats
  [ -f /usr/share/i18n/locales/tr_TR ] || need 'a locale with a decimal comma' locales
  # The format of sources is compared where the release has the version that it is pinned to.
  ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release || have clang-format-14 || need clang-format-14 clang-format-14
  [ "$purpose" != fuzz ] || fuzzer_links || need libFuzzer clang libclang-rt-dev
  case $purpose in
  aarch64) cross aarch64-linux-gnu arm64 ;;
  machines)
    have clang || need clang clang
    cross aarch64-linux-gnu arm64
    cross arm-linux-gnueabihf armhf
    cross riscv64-linux-gnu riscv64
    cross s390x-linux-gnu s390x
    [ "$(uname -m)" != x86_64 ] || cross_links i686-linux-gnu || need "a compiler for i386" gcc-i686-linux-gnu libc6-dev-i386-cross
    ;;
  emitted)
    have cppcheck || need cppcheck cppcheck
    have arm-none-eabi-gcc || need arm-none-eabi-gcc gcc-arm-none-eabi
    have qemu-system-arm || need qemu-system-arm qemu-system-arm
    ;;
  deb)
    have dpkg-buildpackage || need dpkg-buildpackage dpkg-dev
    dpkg -s build-essential >/dev/null 2>&1 || need build-essential build-essential
    have dh || need debhelper debhelper
    have dh_python3 || need dh_python3 dh-python
    ;;
  container) have buildah || need buildah buildah ;;
  steps)
    /usr/bin/python3 -c 'import torch' 2>/dev/null || need PyTorch python3-torch
    /usr/bin/python3 -c 'import onnx' 2>/dev/null || need "onnx for Python" python3-onnx
    ;;
  esac
  python3 -c 'import venv, ensurepip' 2>/dev/null || need python3-venv python3-venv
}
check
if [ -z "$missing" ]; then
  echo "deps: everything is there"
  exit 0
fi
if ! have apt-get; then
  echo "deps: missing: $missing" >&2
  exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
  have sudo || { echo "deps: missing: $missing (not root and no sudo to install them)" >&2; exit 1; }
  as_root=sudo
fi
echo "deps: installing$packages"
$as_root apt-get update &&
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages || {
  echo "deps: apt-get failed; missing: $missing" >&2
  exit 1
}
check
[ -z "$missing" ] || { echo "deps: still missing: $missing" >&2; exit 1; }
echo "deps: everything is there"
