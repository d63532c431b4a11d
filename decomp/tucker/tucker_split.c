#include "decomp/tucker/tucker_split.h"

#include <stdlib.h>

#include "lib/base/random.h"
#include "lib/base/sizes.h"

enum { MOST_APART = 64 };

int64_t dq_tucker_choose_apart(int64_t *apart, int64_t pictures, int64_t fit_limit) {
  const int64_t first = dq_min_i64(fit_limit, pictures), others = pictures - first;
  const int64_t count = dq_min_i64(MOST_APART, first ? others : pictures / 4);
  for (int64_t i = 0; i < count; i++) {
    const int64_t begin = i * others / count, end = (i + 1) * others / count;
    dq_random random = dq_random_start(0, (uint64_t)i);
    apart[i] = first + begin + (int64_t)dq_random_below(&random, (uint64_t)(end - begin));
  }
  return count;
}

// `order` has a place for all pictures.
static dq_status open_views(dq_tucker_split *split, dq_data *data, int64_t fit_limit, int64_t *order, dq_error *error) {
  int64_t apart[MOST_APART], fitted = 0, passed = 0;
  const int64_t pictures = dq_data_count(data), count = dq_tucker_choose_apart(apart, pictures, fit_limit);
  for (int64_t p = 0; p < pictures; p++)
    if (passed < count && apart[passed] == p) passed++;
    else order[fitted++] = p;
  DQ_TRY(dq_data_view(&split->fitted, data, order, fitted, error));
  return count ? dq_data_view(&split->apart, data, apart, count, error) : DQ_OK;
}

dq_status dq_tucker_split_open(dq_tucker_split *split, dq_data *data, int64_t fit_limit, dq_error *error) {
  const size_t bytes = (size_t)dq_data_count(data) * sizeof(int64_t);
  int64_t *order = malloc(bytes);
  *split = (dq_tucker_split){0};
  if (!order) return dq_fail_memory(error, bytes);
  dq_status status = open_views(split, data, fit_limit, order, error);
  free(order);
  return status;
}

void dq_tucker_split_close(dq_tucker_split *split) {
  dq_data_free(split->fitted);
  dq_data_free(split->apart);
  *split = (dq_tucker_split){0};
}
