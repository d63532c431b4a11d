// The MPI job that a process belongs to, if mpirun started it. MPI itself is loaded then (cmd/mpi); a build without it
// has none, and so has a static one.
#ifndef DQ_CMD_MPI_JOB_H
#define DQ_CMD_MPI_JOB_H

#include "lib/base/processes.h"

// Joins the job. *processes is NULL where there is no other process; else it is static. DQ_UNSUPPORTED: mpirun started
// several processes, and this build has no MPI, or there are more than DQ_MOST_PROCESSES. DQ_SYSTEM: MPI cannot be
// loaded. Where the other processes do not start within a minute, prints a message that begins with `name` and ends the
// process with DQ_SYSTEM; as it does later where the exchange with them fails.
dq_status dq_job_open(const char *name, const dq_processes **processes, dq_error *error);

// Waits until all processes have called this function; after a failure (2 and above) at most two seconds. Is called
// when the work has ended with the exit status `status`, before its message is printed. Returns whether this process
// prints its message: the first process with this status does, and so does a process that failed while the others still
// work.
bool dq_job_end(int status);

// Leaves the job. Where other processes still worked when dq_job_end returned, ends this process with the exit status
// `status`, and does not return; the others, which were told, end with that status when they next wait for it.
void dq_job_close(int status);

#endif
