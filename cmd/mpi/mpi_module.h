// All calls of MPI: a shared library of its own, dq-mpi.so, which processes of MPI jobs load (cmd/shared/mpi_job.c), as
// all others would start several times slower with MPI. It calls nothing of the program.
#ifndef DQ_CMD_MPI_MODULE_H
#define DQ_CMD_MPI_MODULE_H

#include <stdbool.h>

#include "lib/base/processes.h"

typedef struct dq_mpi_module {
  // Joins the job; what is returned is static, and its count may be above DQ_MOST_PROCESSES, with which nothing but
  // `end` and `close` may be called. Where the other processes do not start within a minute, prints a message that
  // begins with `name`, calls `remove_outputs` and ends the process with DQ_SYSTEM; as it does later where the exchange
  // with them fails.
  const dq_processes *(*open)(const char *name, void (*remove_outputs)(void));
  bool (*end)(int status);   // dq_job_end of a process of a job
  void (*close)(int status); // dq_job_close
} dq_mpi_module;

extern const dq_mpi_module dq_mpi; // the one symbol that is looked for

#endif
