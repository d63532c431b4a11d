#!/bin/sh
# Builds an image with buildah, by cmd/packages/Dockerfile, as an archive that `docker load` and `podman load` read.
# usage: container.sh FOLDER ARCHIVE VERSION COMMIT MACHINE
# FOLDER: has the files of the image in root/ (image_root.sh), and what buildah keeps while it works. MACHINE: that of the
# program, as gcc calls it.
set -eu
folder=$1 archive=$2 version=$3 commit=$4 machine=$5
case $machine in
x86_64) machine=amd64 ;;
aarch64) machine=arm64 ;;
esac
umask 022
rm -rf "$folder/image" "$folder/image.tar" "$folder/storage" "$folder/run" "$archive"
# Its storage is in the folder, without the settings of the machine, and needs no privilege beyond a user namespace.
store=$(realpath "$folder")
image() { TMPDIR=$store buildah --root "$store/storage" --runroot "$store/run" --storage-driver vfs "$@"; }
image build-using-dockerfile --quiet --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" --omit-history --identity-label=false \
  --arch "$machine" --build-arg VERSION="$version" --build-arg REVISION="$commit" -t "dq:$version" \
  -f cmd/packages/Dockerfile "$folder" >/dev/null
image push --quiet "dq:$version" "docker-archive:$folder/image.tar:dq:$version"
image rmi --all --force >/dev/null
# The same files, without the moment at which they were written.
mkdir "$folder/image"
tar -xf "$folder/image.tar" -C "$folder/image"
(cd "$folder/image" && tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --mtime="@$SOURCE_DATE_EPOCH" -c -- *) >"$archive"
rm -rf "$folder/image" "$folder/image.tar" "$folder/storage" "$folder/run"
