// The outer borders of the regions of a mask, one after the other, by border following (Suzuki and Abe, "Topological
// structural analysis of digitized binary images by border following", CVGIP 30, 1985). Private to this module.
#ifndef DQ_DECODE_TEXT_BORDERS_H
#define DQ_DECODE_TEXT_BORDERS_H

#include <stdbool.h>
#include <stdint.h>

// A region is what hangs together by sides or corners of cells.
typedef struct dq_borders {
  int64_t height, width;
  // [height + 2][width + 2], the mask with zeros around it: 1 in a region. Following a border changes cells that are
  // not 0.
  uint8_t *cells;
  // The border found last: between rows `top` and `bottom` inclusive its first and last column in each row, which are
  // those of the region as well. [height] each.
  int32_t *first, *last;
  int64_t top, bottom;
  int64_t next; // the place in `cells` at which the search goes on; at first width + 3
} dq_borders;

// Finds the outer border of the next region, in the order of the first cells of regions row by row; borders of holes
// are passed over. False: there is none left. All calls together take time in proportion to the cells.
bool dq_border_next(dq_borders *borders);

#endif
