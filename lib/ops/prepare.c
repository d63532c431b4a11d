// Running operators that pack constants, without a plan.
#include "lib/ops/prepare.h"

#include <stdint.h>

#include "lib/base/sizes.h"

enum { ALIGNMENT = 64 };

dq_status dq_op_alloc(const dq_op *op, dq_arena *arena, size_t bytes, void **memory) {
  size_t padded;
  char *block = dq_add_size(bytes, ALIGNMENT, &padded) ? dq_arena_alloc(arena, padded) : NULL;
  if (!block) return dq_fail_memory(op->error, bytes);
  size_t past = (uintptr_t)block % ALIGNMENT;
  *memory = block + (past ? ALIGNMENT - past : 0);
  return DQ_OK;
}

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
