# Jobs of several processes, for tests of commands; they are skipped without MPI.
mpirun=(mpirun --oversubscribe) # more processes than processors
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)

needs_mpi() {
  command -v mpirun >/dev/null || skip "no mpirun: openmpi-bin is not installed"
  [[ -e $build/dq-mpi.so ]] || skip "this build has no MPI: libopenmpi-dev was not installed"
  # All processes are on this machine, so that none is started by ssh, which Open MPI 4 wants to find all the same.
  command -v ssh >/dev/null || export OMPI_MCA_plm_rsh_agent=true
  # Its memory that processes share may be larger than /dev/shm of a container; vader is what sm was before Open MPI 5.
  export OMPI_MCA_btl_vader_backing_directory=$BATS_TEST_TMPDIR OMPI_MCA_btl_sm_backing_directory=$BATS_TEST_TMPDIR
  # Open MPI itself leaks, and takes its locks in more than one order.
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
  export TSAN_OPTIONS=${TSAN_OPTIONS-}:detect_deadlocks=0:ignore_noninstrumented_modules=1
}
