#include "lib/ops/common/reduction.h"

#include "lib/base/sizes.h"
#include "lib/ops/common/elementwise.h"

void dq_reduction_plan(const dq_tensor *input, const bool *reduced, dq_reduction *plan) {
  *plan = (dq_reduction){.sets = 1, .rows = 1, .length = 1, .stride = 1};
  int64_t stride = 1;
  bool joins[2] = {false, false}; // the dimension just inside is of this kind
  int64_t kept[2][DQ_MAX_RANK], gone[2][DQ_MAX_RANK];
  int kept_rank = 0, gone_rank = 0;
  for (int axis = input->rank - 1; axis >= 0; axis--) { // innermost first
    int64_t size = input->dims[axis];
    if (size == 1) continue;
    bool goes = reduced[axis];
    int *rank = goes ? &gone_rank : &kept_rank;
    int64_t(*list)[DQ_MAX_RANK] = goes ? gone : kept;
    if (joins[goes]) {
      list[0][*rank - 1] *= size;
    } else {
      list[0][*rank] = size;
      list[1][(*rank)++] = stride;
    }
    joins[goes] = true;
    joins[!goes] = false;
    stride *= size;
  }
  for (int i = 0; i < kept_rank; i++) {
    plan->kept_dims[i] = kept[0][i];
    plan->kept_strides[i] = kept[1][i];
    plan->sets *= kept[0][i];
  }
  if (gone_rank) plan->length = gone[0][0], plan->stride = gone[1][0];
  for (int i = 1; i < gone_rank; i++) {
    plan->outer_dims[i - 1] = gone[0][i];
    plan->outer_strides[i - 1] = gone[1][i];
    plan->rows *= gone[0][i];
  }
  plan->kept_rank = kept_rank;
  plan->outer_rank = gone_rank ? gone_rank - 1 : 0;
}

static int64_t offset_of(int64_t index, int rank, const int64_t *dims, const int64_t *strides) {
  int64_t offset = 0;
  for (int i = 0; i < rank; i++) {
    offset += index % dims[i] * strides[i];
    index /= dims[i];
  }
  return offset;
}

int64_t dq_reduction_set(const dq_reduction *plan, int64_t set) {
  return offset_of(set, plan->kept_rank, plan->kept_dims, plan->kept_strides);
}

int64_t dq_reduction_row(const dq_reduction *plan, int64_t row) {
  return offset_of(row, plan->outer_rank, plan->outer_dims, plan->outer_strides);
}

int64_t dq_reduction_grain(const dq_reduction *plan) {
  int64_t elements = plan->rows * plan->length;
  return elements >= DQ_GRAIN ? 1 : DQ_GRAIN / (elements + 1) + 1;
}

dq_status dq_reduced_axes(const dq_op *op, bool *reduced, bool *known) {
  int64_t axes[DQ_MAX_INTS];
  int count, rank = op->inputs[0]->rank;
  DQ_TRY(dq_op_axes(op, "axes", 1, axes, &count, known));
  bool all = count <= 0 && !dq_node_int(op->node, "noop_with_empty_axes", 0);
  for (int axis = 0; axis < rank; axis++) reduced[axis] = all;
  for (int i = 0; i < count; i++) {
    int axis;
    DQ_TRY(dq_op_axis(op, axes[i], rank, &axis));
    reduced[axis] = true;
  }
  return DQ_OK;
}
