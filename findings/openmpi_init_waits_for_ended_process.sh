#!/usr/bin/env bash
# A process of a job that ends with 0 before MPI_Init leaves the others in MPI_Init for ever; mpirun says nothing
#
# Guessed: mpirun notices that a process of the job has ended without MPI_Init and ends the others with a message, as it
#   does where a process ends between MPI_Init and MPI_Finalize.
# Happens: with the status 0 mpirun waits for ever, and so do the others. Its help text for the case ("this process did
#   not call init before exiting, but others in the job did") comes only for processes that have called MPI_Init. With
#   another status than 0 the job is ended at once.
# Versions: Debian 12, openmpi-bin 4.1.4, one machine, default settings.
# Matters: a wrapper script that does something else on one rank (--help, a wrong branch) hangs a whole job until its time
#   limit. A program has to limit MPI_Init itself: a timer that ends the process with a status other than 0 ends all.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
packages="libopenmpi-dev openmpi-bin gcc libc6-dev"
pinned="libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1 gcc libc6-dev" # Debian 12
if ! dpkg -s $packages >"$dir/packages" 2>&1; then
  apt-get update -qq >"$dir/packages" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $pinned >"$dir/packages" 2>&1
fi
dpkg-query -W -f '${Package} ${Version}\n' openmpi-bin
for p in $pinned; do case $p in *=*) dpkg-query -W -f '${Package}=${Version}\n' | grep -qx "$p" || { echo "CHANGED: not $p"; exit 1; } ;; esac; done
cd "$dir"
cat >early.c <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  int early = atoi(argv[1]), status = atoi(argv[2]);
  if (!strcmp(rank, "1") && early) return status;
  MPI_Init(&argc, &argv);
  if (!strcmp(rank, "1")) exit(status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
C
mpicc -O2 early.c -o early
root=; [ "$(id -u)" != 0 ] || root=--allow-run-as-root
for early in 1 0; do
  for status in 0 3; do
    ended=0
    timeout 15 mpirun $root --oversubscribe -n 2 ./early $early $status >out 2>&1 || ended=$?
    echo "early $early status $status: mpirun $ended, $(grep -c 'exiting improperly' out || true) words on an improper end" | tee -a seen
  done
done
printf '%s\n' "early 1 status 0: mpirun 124, 0 words on an improper end" "early 1 status 3: mpirun 3, 0 words on an improper end" \
  "early 0 status 0: mpirun 1, 1 words on an improper end" "early 0 status 3: mpirun 3, 0 words on an improper end" >stated
if cmp -s seen stated; then echo "as stated"; else echo CHANGED && exit 1; fi
