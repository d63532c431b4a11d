// Outputs whose rows a TopK has sorted, as the detections of end-to-end detectors: a little noise gives rows other
// places, so that a row is compared with the row of the other network that is most like it, wherever that stands.
#ifndef DQ_VERDICT_SORTED_ROWS_H
#define DQ_VERDICT_SORTED_ROWS_H

#include <stdbool.h>

#include "lib/base/status.h"
#include "lib/base/tensor.h"
#include "lib/graph/graph.h"

// Whether an output of an indexed graph has rows (the last dimension but one; `tensor` is its shape) that a TopK
// sorted: some of its numbers were gathered by indices that come from one. At most 4096 rows of 2 numbers or more.
bool dq_has_sorted_rows(const dq_value *output, const dq_tensor *tensor);

// Brings the rows of `other` into the order of `exact`, both of `shape`, in `matched`: row by row of `exact` takes the
// row that is nearest among those that are left. The distance is the sum over the columns of (exact - other)^2 over the
// sum of the squares of the column in `exact`. Time grows with the square of the rows. DQ_SYSTEM: there is no memory.
dq_status dq_match_rows(float *matched, const dq_tensor *shape, const float *exact, const float *other,
                        dq_error *error);

#endif
