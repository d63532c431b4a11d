# Jobs of several processes, for tests of commands; they are skipped without MPI.
mpirun=(mpirun --oversubscribe) # more processes than processors
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)

needs_mpi() {
  command -v mpirun >/dev/null || skip "no mpirun: openmpi-bin is not installed"
  [[ -e $build/dq-mpi.so ]] || skip "this build has no MPI: libopenmpi-dev was not installed"
  # Open MPI itself leaks, and takes its locks in more than one order.
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
  export TSAN_OPTIONS=${TSAN_OPTIONS-}:detect_deadlocks=0:ignore_noninstrumented_modules=1
}
