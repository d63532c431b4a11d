#!/bin/sh
# Links the shared library of the wheel: protobuf-c, jansson, Expat, libyaml and xxHash are in it, and versions of glibc's functions are
# those of portable.c.
# usage: portable.sh LIBRARY SONAME COMPILER OBJECT...
set -eu
library=$1 soname=$2 compiler=$3
shift 3
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrapped=$(sed -nE 's/^OLD\([^,]*, ([a-z0-9_]+), .*/\1/p; s/^int __wrap_([a-z]+)\(.*/\1/p' "$here/portable.c" | grep -v '^__')
objcopy=$($compiler -print-prog-name=objcopy)
$objcopy --redefine-sym stdin=dq_no_stream "$($compiler -print-file-name=libjansson.a)" "$work/libjansson.a"
$compiler -O3 -fPIC -fvisibility=hidden -w -c -o "$work/portable.o" "$here/portable.c"
$compiler -shared -s -o "$library" "$@" "$work/portable.o" -Wl,-soname,"$soname" -Wl,--gc-sections -Wl,--exclude-libs,ALL \
  -Wl,--version-script="$here/../../lib/api/libdq.map" -Wl,-z,defs -Wl,-z,relro $(printf -- '-Wl,--wrap=%s ' $wrapped) \
  -l:libprotobuf-c.a "$work/libjansson.a" -l:libexpat.a -l:libyaml.a -l:libxxhash.a -lm -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2
