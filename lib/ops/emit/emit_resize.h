// C of interpolation along axes.
#ifndef DQ_OPS_EMIT_RESIZE_H
#define DQ_OPS_EMIT_RESIZE_H

#include "lib/ops/common/resize_axis.h"
#include "lib/ops/emit/emit.h"

// Prints the interpolation of input 0 along axes[rank] whose tables are filled (dq_resize_axis_table). DQ_UNSUPPORTED:
// the elements are integers.
dq_status dq_emit_resize(dq_emission *to, const dq_resize_axis *axes, int rank, float extrapolation);

#endif
