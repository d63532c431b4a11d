// Plans that run in turns, in blocks.
#include "lib/measure/timed_blocks.h"

#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/sizes.h"
#include "lib/measure/feed.h"

typedef struct turns {
  dq_blocks *made;
  dq_timed_plan *plans;
  int count;
  const dq_block_options *options;
  int64_t rounds; // to make
  double start;   // dq_seconds() when the warm-up had ended
  const dq_context *context;
  dq_error *error;
} turns;

int64_t dq_block_count(int64_t rounds) {
  enum { ROUNDS = 2, LEAST = 12, MOST = 100 };
  return dq_min_i64(dq_max_i64(LEAST, dq_min_i64(rounds / ROUNDS, MOST)), rounds);
}

int64_t dq_block_rounds(const dq_block_options *options) { return dq_max_i64(options->rounds, options->quick); }

int dq_plan_in_turn(int count, int64_t block, int turn) {
  int first = (int)(block % count);
  bool backwards = block / count % 2;
  return (first + (backwards ? count - turn : turn)) % count;
}

static dq_status name_failure(const turns *t, const dq_timed_plan *plan, dq_status status) {
  return status == DQ_OK || !plan->name ? status : dq_error_prefix(t->error, status, "%s", plan->name);
}

static dq_status run_plan(const turns *t, dq_timed_plan *plan, double *seconds) {
  DQ_TRY(dq_check_stop(t->context, t->error));
  dq_feed(plan->session->plan, plan->inputs);
  double start = dq_seconds();
  DQ_TRY(name_failure(t, plan, dq_plan_run(plan->session->plan, t->error)));
  *seconds = fmax(dq_seconds() - start, 1e-9);
  if (!(plan->first > 0)) plan->first = *seconds;
  return DQ_OK;
}

// A round below 0 belongs to a warm-up.
static dq_status run_round(const turns *t, int64_t block, int64_t round) {
  for (int turn = 0; turn < t->count; turn++) {
    dq_timed_plan *plan = &t->plans[dq_plan_in_turn(t->count, block, turn)];
    double seconds;
    DQ_TRY(run_plan(t, plan, &seconds));
    if (round >= 0) plan->times[round] = seconds;
    plan->least[block] = plan->least[block] > 0 ? fmin(plan->least[block], seconds) : seconds;
  }
  return DQ_OK;
}

static void report_progress(const turns *t, int64_t round) {
  dq_progress(t->context, "timing", t->options->warmup + round + 1, t->options->warmup + t->rounds);
}

static dq_status warm_up(const turns *t) {
  for (int64_t round = -t->options->warmup; round < 0; round++) {
    DQ_TRY(run_round(t, 0, round));
    report_progress(t, round);
  }
  return DQ_OK;
}

// Returns the number of rounds: options->quick where the shortest warm-up run of each plan is below DQ_QUICK_RUN.
static int64_t choose_rounds(const turns *t) {
  bool are_quick = t->options->quick && t->options->warmup;
  for (int p = 0; p < t->count && are_quick; p++) are_quick = t->plans[p].least[0] < DQ_QUICK_RUN;
  return are_quick ? t->options->quick : t->options->rounds;
}

static int64_t choose_blocks(const dq_block_options *options, int64_t rounds) {
  return dq_min_i64(options->blocks ? options->blocks : dq_block_count(rounds), rounds);
}

// The first run touches memory that was never used; what later ones still gain matters where runs are short.
static dq_status warm_again(const turns *t, int64_t block) {
  static const double ENOUGH = 0.005; // seconds
  double start = dq_seconds();
  for (int64_t run = 0; run < t->options->warmup; run++) {
    if (run && dq_seconds() - start > ENOUGH) break;
    DQ_TRY(run_round(t, block, -1));
  }
  return DQ_OK;
}

// All are freed before the first is bound, so that one may lie where another one lay.
static dq_status bind_again(const turns *t, int64_t block, dq_random *places) {
  for (int p = 0; p < t->count; p++) {
    dq_plan_free(t->plans[p].session->plan);
    t->plans[p].session->plan = NULL;
  }
  for (int turn = 0; turn < t->count; turn++) {
    dq_timed_plan *plan = &t->plans[dq_plan_in_turn(t->count, block, turn)];
    DQ_TRY(name_failure(t, plan, dq_session_bind_again(plan->session, plan->options, places, t->context, t->error)));
  }
  return DQ_OK;
}

static bool is_over(const turns *t, double share) {
  return t->options->time_limit > 0 && dq_seconds() - t->start > share * t->options->time_limit;
}

static dq_status run_block(const turns *t, int64_t block, int64_t blocks) {
  int64_t *rounds = &t->made->rounds, begin = *rounds, end = (block + 1) * t->rounds / blocks;
  while (*rounds < end && (*rounds == begin || !is_over(t, (double)(block + 1) / (double)blocks))) {
    DQ_TRY(run_round(t, block, *rounds));
    report_progress(t, (*rounds)++);
  }
  t->made->count++;
  return DQ_OK;
}

dq_status dq_blocks_run(dq_blocks *made, dq_timed_plan *plans, int count, const dq_block_options *options,
                        const dq_context *context, dq_arena *arena, dq_error *error) {
  enum { PURPOSE = 3 }; // of random numbers
  turns t = {.made = made, .plans = plans, .count = count, .options = options, .context = context, .error = error};
  t.rounds = options->rounds;
  const int64_t most = choose_blocks(options, dq_block_rounds(options));
  dq_random places = dq_random_start(context->seed, PURPOSE);
  *made = (dq_blocks){0};
  for (int p = 0; p < count; p++)
    if (!(plans[p].least = DQ_NEW_ARRAY(arena, most, double)))
      return dq_fail_memory(error, (size_t)most * sizeof(double));
  DQ_TRY(warm_up(&t));
  t.rounds = choose_rounds(&t);
  const int64_t blocks = choose_blocks(options, t.rounds);
  t.start = dq_seconds();
  DQ_TRY(run_block(&t, 0, blocks));
  for (int64_t block = 1; block < blocks && (block < options->fewest || !is_over(&t, 1)); block++) {
    DQ_TRY(bind_again(&t, block, &places));
    DQ_TRY(warm_again(&t, block));
    DQ_TRY(run_block(&t, block, blocks));
  }
  return DQ_OK;
}
