// The MPI job that a process belongs to, if mpirun started it. All calls of MPI are in mpi_job.c; a build without MPI
// has none, and every process is then alone.
#ifndef DQ_CMD_MPI_JOB_H
#define DQ_CMD_MPI_JOB_H

#include "lib/base/processes.h"

// Joins the job. *processes is NULL where there is no other process; else it is static. DQ_UNSUPPORTED: mpirun started
// several processes, and this build has no MPI, or there are more than DQ_MOST_PROCESSES.
dq_status dq_job_open(const dq_processes **processes, dq_error *error);

// Called when the work has ended, before its message is printed. Returns whether this process prints: the first one
// does, and another one whose failure the others do not know of, which is when they do not end as well.
bool dq_job_ends(int status);

// Leaves the job. When the others did not end as well, ends their processes with the exit status, and does not return.
void dq_job_close(int status);

#endif
