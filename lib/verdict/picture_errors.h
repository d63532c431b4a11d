// The error of the outputs of a converted network by picture: figures of any choice of the pictures, and how much they
// scatter from one picture to another, are made of it.
#ifndef DQ_VERDICT_PICTURE_ERRORS_H
#define DQ_VERDICT_PICTURE_ERRORS_H

#include "lib/verdict/output_error.h"

// The error of one output.
typedef struct dq_row_error {
  dq_output_error error;
  int64_t answers, equal; // dq_answers
} dq_row_error;

// The rows are the pictures; of more than DQ_MOST_ROWS picture p belongs to row p % DQ_MOST_ROWS.
typedef struct dq_picture_errors {
  dq_row_error *cells; // [row * outputs + output]
  bool *is_broken;     // [pictures]: an output is broken (dq_is_broken)
  int outputs;
  int64_t rows, pictures;
} dq_picture_errors;

enum { DQ_MOST_ROWS = 512 };

// A table of zeros. The arena owns it. DQ_SYSTEM: there is no memory.
dq_status dq_picture_errors_open(dq_picture_errors *table, int outputs, int64_t pictures, dq_arena *arena,
                                 dq_error *error);
void dq_picture_errors_clear(dq_picture_errors *table);
dq_row_error *dq_picture_errors_at(const dq_picture_errors *table, int64_t picture, int output);

// Adds the error of an output on a picture. The arena owns what the first one of a row needs. DQ_SYSTEM: there is no
// memory.
dq_status dq_picture_errors_add(dq_picture_errors *table, int64_t picture, int output, const dq_output_error *one,
                                dq_arena *arena, dq_error *error);
// Copies picture `from` of another table with the same outputs, neither of which has more than DQ_MOST_ROWS pictures,
// over picture `to`. Statuses as dq_picture_errors_add.
dq_status dq_picture_errors_take(dq_picture_errors *table, int64_t to, const dq_picture_errors *other, int64_t from,
                                 dq_arena *arena, dq_error *error);
// A copy of the table in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_picture_errors_copy(dq_picture_errors *copy, const dq_picture_errors *table, dq_arena *arena,
                                 dq_error *error);
// Adds the sums over all rows of an output to *sum, which may be zeroed or cleared. Statuses as dq_picture_errors_add.
dq_status dq_picture_errors_sum(const dq_picture_errors *table, int output, dq_row_error *sum, dq_arena *arena,
                                dq_error *error);
int64_t dq_picture_errors_broken(const dq_picture_errors *table); // number of these pictures

#endif
