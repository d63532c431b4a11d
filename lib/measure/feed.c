// Random inputs of runs that are measured.
#include "lib/measure/feed.h"

#include <string.h>

void dq_feed_noise(dq_tensor *input, dq_random *random) {
  int64_t elements = dq_tensor_count(input);
  memset(input->data, 0, dq_tensor_bytes(input));
  if (!(DQ_BIT(input->type) & DQ_TYPES_FLOAT)) return;
  for (int64_t e = 0; e < elements; e++) dq_tensor_set(input, e, 2.0 * (double)dq_random_float(random) - 1.0);
}

dq_status dq_feed_make(dq_tensor ***result, dq_plan *plan, const dq_context *context, dq_arena *arena,
                       dq_error *error) {
  int count = dq_plan_input_count(plan);
  dq_tensor **inputs = *result = DQ_NEW_ARRAY(arena, count, dq_tensor *);
  if (!inputs) return dq_fail_memory(error, (size_t)count * sizeof *inputs);
  dq_random random = dq_random_start(context->seed, 0);
  for (int i = 0; i < count; i++) {
    const dq_tensor *like = dq_plan_input(plan, i);
    dq_tensor *input = inputs[i] = dq_tensor_new(arena, like->type, like->rank, like->dims);
    if (!input) return dq_fail_memory(error, dq_tensor_bytes(like));
    dq_feed_noise(input, &random);
  }
  return DQ_OK;
}

void dq_feed(dq_plan *plan, dq_tensor *const *inputs) {
  for (int i = 0; i < dq_plan_input_count(plan); i++) {
    dq_tensor *input = dq_plan_input(plan, i);
    memcpy(input->data, inputs[i]->data, dq_tensor_bytes(input));
  }
}
