// Running operators that pack constants, without a plan.
#include "lib/ops/common/prepare.h"

static dq_status run_in(dq_op *op, dq_arena *arena) {
  dq_op own = *op;
  own.scratch_bytes = 0;
  DQ_TRY(op->row->prepare(&own, arena));
  if (!own.state) return dq_op_fail(op, DQ_BAD_INPUT, "a constant input has no elements");
  DQ_TRY(dq_op_alloc(op, arena, own.scratch_bytes, &own.scratch));
  return op->row->run(&own);
}

dq_status dq_op_run_unprepared(dq_op *op) {
  dq_arena *arena = dq_context_arena(op->context);
  if (!arena) return dq_fail_memory(op->error, 0);
  dq_status status = run_in(op, arena);
  dq_arena_free(arena);
  return status;
}
