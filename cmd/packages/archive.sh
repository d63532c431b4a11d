#!/bin/sh
# Archives the files of the last commit, with cmd/packages/commit and cmd/packages/date in place of a repository. In an
# unpacked archive its files are archived again, without what is built in it.
# usage: archive.sh FOLDER NAME BUILD_FOLDER   writes FOLDER/NAME.tar.gz; SOURCE_DATE_EPOCH: the moment of all files
set -eu
folder=$1 name=$2 build=$3
umask 022
rm -rf "$folder/$name" "$folder/$name.tar.gz"
mkdir -p "$folder/$name"
if [ -f cmd/packages/commit ]; then
  tar -c --exclude=./build --exclude="./$build" . | tar -x -C "$folder/$name"
elif git rev-parse --verify -q HEAD >/dev/null; then
  [ -z "$(git status --porcelain)" ] || echo "dist: the archive is that of the last commit; later changes are left out" >&2
  git archive HEAD | tar -x -C "$folder/$name"
  git rev-parse --short=8 HEAD >"$folder/$name/cmd/packages/commit"
  echo "$SOURCE_DATE_EPOCH" >"$folder/$name/cmd/packages/date"
else
  echo "dist: needs the git repository of dq with a commit, or an unpacked archive of it" >&2
  exit 1
fi
tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" \
  -C "$folder" -c "$name" | gzip -9n >"$folder/$name.tar.gz.new"
rm -rf "${folder:?}/$name"
mv "$folder/$name.tar.gz.new" "$folder/$name.tar.gz"
