// Trials of layers in float: some pictures give ranges and others judge, both ways round where trials of settings were,
// so that every picture judges a network with ranges of others.
#ifndef DQ_QUANT_FLOAT_SIDES_H
#define DQ_QUANT_FLOAT_SIDES_H

#include "quant/int8/int8.h"

// Which pictures judge.
typedef enum dq_float_judges {
  DQ_FLOAT_BOTH,    // those that judge settings, and those that judge the setting at last, as far as `whole` has ranges
  DQ_FLOAT_SWAPPED, // those that judge the setting at last (dq_swapped_data)
  DQ_FLOAT_AS_FILE, // those that judge settings, with the ranges of all
} dq_float_judges;

typedef struct dq_float_setup {
  const dq_graph *graph; // the float network
  const dq_int8_options *int8;
  dq_data *data;               // all of its pictures
  const dq_int8_report *whole; // of the conversion with all layers in 8 bits
  dq_float_judges judges;
} dq_float_setup;

typedef struct dq_float_side {
  dq_data *data;          // in the order of the side: pictures that give ranges come first, those that judge last
  int64_t ranges;         // number of pictures that may give ranges; 0: all
  dq_evaluator evaluator; // on the others
  dq_int8_report first;   // decisions and ranges with all layers in 8 bits
} dq_float_side;

// A form that was tried, with the more in float the higher its number.
typedef struct dq_float_tried {
  int number;
  dq_picture_errors errors;
} dq_float_tried;

typedef struct dq_float_sides {
  dq_float_setup setup;
  const dq_context *context;
  dq_float_side sides[2];
  int count;
  dq_verdict_data kind;  // DQ_VERDICT_FITTED_PICTURES: the pictures that judge give ranges too
  dq_float_tried *tried; // [tried_count], ascending by number
  int tried_count, capacity;
  dq_arena *arena;
  dq_error *error;
} dq_float_sides;

// Opens the sides; float outputs are computed here. What is pointed to must outlive the sides, which the caller closes,
// also after a failure. Statuses as dq_evaluator_open.
dq_status dq_float_sides_open(dq_float_sides *sides, const dq_float_setup *setup, const dq_context *context,
                              dq_arena *arena, dq_error *error);
void dq_float_sides_close(dq_float_sides *sides); // safe on a zeroed struct

// Quantizes `copy`, a copy of the graph, and others of it, with the layers of `map` in float (count 0: none) and
// compares their outputs: *errors has the pictures of all sides. `copy` and *report, which holds as long, are those of
// the first side. With `keeps` ranges of values that had none before serve the trials behind this one. `noise` receives
// those of the pictures of the first side (dq_score); NULL: they are not wanted. Statuses as dq_int8_apply_from and
// dq_evaluate.
dq_status dq_float_sides_try(dq_float_sides *sides, dq_graph *copy, const dq_precision_map *map, bool keeps,
                             dq_picture_errors *errors, double *noise, dq_int8_report *report);
// The verdict with these errors.
dq_status dq_float_sides_verdict(const dq_float_sides *sides, const dq_picture_errors *errors, dq_verdict *verdict,
                                 dq_arena *arena);

// Keeps what a form showed for dq_float_sides_cross_fit.
dq_status dq_float_sides_record(dq_float_sides *sides, int number, const dq_picture_errors *errors);
// The errors of pictures each of which had no part in the choice of the form that judges it: of the forms that were
// recorded and whose number is `least` to `most`, the first one that is enough on all other pictures
// (dq_verdict_is_enough), or the last one where none is.
dq_status dq_float_sides_cross_fit(dq_float_sides *sides, int least, int most, const dq_verdict_bounds *bounds,
                                   dq_picture_errors *errors);

#endif
