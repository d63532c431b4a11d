// A step of many jobs at the same time.
#include "decomp/tucker/tucker_job.h"

typedef struct run_state {
  dq_tucker_job *jobs;
  int count, threads;
  dq_tucker_step step;
  const dq_tucker_options *options;
  const char *what;
} run_state;

// Every `threads`-th layer, so that the large ones at the end of a network are shared out.
static void run_share(void *argument, int64_t share, int thread) {
  const run_state *run = argument;
  for (int i = (int)share; i < run->count; i += run->threads) {
    dq_tucker_job *job = &run->jobs[i];
    if (job->layer->reason[0]) continue;
    job->status = dq_check_stop(run->options->context, &job->error);
    if (job->status == DQ_OK) job->status = run->step(job, run->options, &job->error);
    if (thread == 0) dq_progress(run->options->context, run->what, i + 1, run->count);
  }
}

dq_status dq_tucker_run(dq_tucker_job *jobs, int count, dq_tucker_step step, const dq_tucker_options *options,
                        const char *what, dq_error *error) {
  dq_pool *pool = options->context ? options->context->pool : NULL;
  run_state run = {jobs, count, dq_pool_threads(pool), step, options, what};
  dq_pool_run(pool, run.threads, run_share, &run);
  for (int i = 0; i < count; i++)
    if (jobs[i].status != DQ_OK) {
      if (error) *error = jobs[i].error;
      return jobs[i].status;
    }
  return DQ_OK;
}
