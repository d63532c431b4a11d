#!/bin/sh
# Builds the Debian packages from the archive of the sources, in a folder of its own.
# usage: debian.sh ARCHIVE FOLDER VERSION   writes FOLDER/*.deb, *.changes and *.buildinfo
# DEBFULLNAME, DEBEMAIL: who answers for the packages, where it is not who stands in debian/control
set -eu
archive=$1 folder=$2 version=$3
rm -rf "$folder"
mkdir -p "$folder"
tar -xf "$archive" -C "$folder"
cd "$folder/dq-$version"
cp -R cmd/packages/debian debian
[ -z "${DEBEMAIL-}" ] || sed -i "s|^Maintainer: .*|Maintainer: ${DEBFULLNAME:?is needed with DEBEMAIL} <$DEBEMAIL>|" debian/control
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
{ # the section of this version, without marks of code, a bullet a change
  printf 'dq (%s) unstable; urgency=medium\n\n' "$version"
  awk -v heading="## $version" '/^## / { ours = $0 == heading } ours && /^- / { gsub(/`/, ""); print substr($0, 3) }' CHANGELOG.md |
    while IFS= read -r change; do echo "$change" | fold -s -w 75 | sed 's/ *$//; 1s/^/  * /; 2,$s/^/    /'; done
  printf '\n -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
} >debian/changelog
unset MAKEFLAGS MAKEOVERRIDES MFLAGS # variables of the make that calls this are not for the package
dpkg-buildpackage -b -uc -us
