#include "cmd/shared/mpi_job.h"

#include <stdlib.h>

#include "lib/base/sizes.h"
#include "cmd/mpi/mpi_module.h"
#include "lib/base/file.h"
#ifndef DQ_STATIC
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#endif

static const dq_mpi_module *module; // NULL: this process is alone

// Processes that a launcher says it has started; 1: none said so.
static int started(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (int i = 0; i < 2; i++) {
    const char *count = getenv(names[i]);
    if (count && atoi(count) > 1) return atoi(count);
  }
  return 1;
}

static dq_status fail_without(const char *hint, dq_error *error) {
  dq_fail(error, DQ_UNSUPPORTED, "this is one of %d processes of an MPI job, and dq was built without MPI", started());
  dq_error_hint(error, "%s", hint);
  return DQ_UNSUPPORTED;
}

#ifdef DQ_STATIC

static dq_status load(dq_error *error) {
  return fail_without("a static program has no MPI; the Debian package and the source have", error);
}

#else

// Where the module may be, beside the folder of the program: in the build folder, and where it is installed.
static const char *const places[] = {"dq-mpi.so", "../lib/dq/dq-mpi.so"};

// Writes the path of the module at one of the places; false: it is not there.
static bool find(const char *place, char path[PATH_MAX]) {
  char folder[PATH_MAX / 2];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (length < 0) return false;
  folder[length] = 0;
  snprintf(path, PATH_MAX, "%.*s/%s", (int)(strrchr(folder, '/') - folder), folder, place);
  return access(path, R_OK) == 0;
}

// Open MPI's own modules look for its symbols among those of the whole process.
static dq_status load(dq_error *error) {
  char path[PATH_MAX];
  int i = 0;
  while (i < DQ_COUNT(places) && !find(places[i], path)) i++;
  if (i == DQ_COUNT(places)) return fail_without("with libopenmpi-dev installed, make builds dq with it", error);
  void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  module = handle ? dlsym(handle, "dq_mpi") : NULL;
  if (module) return DQ_OK;
  dq_fail(error, DQ_SYSTEM, "MPI cannot be loaded: %s", dlerror());
  dq_error_hint(error, "processes of an MPI job need Open MPI: apt-get install openmpi-bin");
  return DQ_SYSTEM;
}

#endif

dq_status dq_job_open(const char *name, const dq_processes **processes, dq_error *error) {
  *processes = NULL;
  if (started() == 1) return DQ_OK;
  DQ_TRY(load(error));
  const dq_processes *job = module->open(name, dq_output_remove_all);
  if (job->count > DQ_MOST_PROCESSES)
    return dq_fail(error, DQ_UNSUPPORTED, "the job has %d processes, at most %d are supported", job->count,
                   DQ_MOST_PROCESSES);
  if (job->count > 1) *processes = job;
  return DQ_OK;
}

bool dq_job_end(int status) { return module ? module->end(status) : true; }

void dq_job_close(int status) {
  if (module) module->close(status);
}
