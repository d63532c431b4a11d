#!/bin/sh
# Lays out the files of the image: a static program, links to it, the licences of what it holds.
# usage: image_root.sh PROGRAM BILL NOTICES FOLDER VERB...
set -eu
program=$1 bill=$2 notices=$3 folder=$4
shift 4
umask 022
rm -rf "$folder"
mkdir -p "$folder/usr/bin" "$folder/usr/share/doc/dq" "$folder/data" "$folder/tmp"
chmod 1777 "$folder/data" "$folder/tmp"
cp "$program" "$folder/usr/bin/dq"
for verb; do ln -s dq "$folder/usr/bin/dq-$verb"; done
cp LICENSE "$notices" "$folder/usr/share/doc/dq"
cp "$bill" "$folder/usr/share/doc/dq/dq.cdx.json"
