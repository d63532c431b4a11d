// The pictures of a decomposition in two parts: those that factors are fitted to and ranks are chosen on, and those
// that are kept apart, on which the verdict is given.
#ifndef DQ_DECOMP_TUCKER_SPLIT_H
#define DQ_DECOMP_TUCKER_SPLIT_H

#include "datasets/datasets.h"

typedef struct dq_tucker_split {
  dq_data *fitted, *apart; // views of the data; NULL: that part is empty
} dq_tucker_split;

// The numbers of the pictures that are kept apart of `pictures`, ascending, into `apart`, which has a place for 64.
// With `fit_limit` above 0 they are chosen among the pictures behind the first fit_limit ones, 64 at most. With 0 they
// are a quarter of all, 64 at most, and none of fewer than four. The pictures to choose among are cut into as many
// runs, and one of each run is taken by chance, as their order may repeat, such as class after class. The same numbers
// always give the same pictures. Returns how many they are.
int64_t dq_tucker_choose_apart(int64_t *apart, int64_t pictures, int64_t fit_limit);

// Opens both views: of the pictures that are kept apart, and of all others. The data must outlive them; the caller
// closes the split, also after a failure. DQ_SYSTEM: there is no memory.
dq_status dq_tucker_split_open(dq_tucker_split *split, dq_data *data, int64_t fit_limit, dq_error *error);
void dq_tucker_split_close(dq_tucker_split *split); // allowed on a zeroed struct

#endif
