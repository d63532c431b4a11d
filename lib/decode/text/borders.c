#include "lib/decode/text/borders.h"

// Marks of cells of a region. A cell whose neighbour to the right was found to be outside is PASSED: no border of a
// hole begins there any more.
enum { FREE = 1, SEEN = 2, PASSED = 3 };

// The eight neighbours of a cell, clockwise from the one to the right.
enum { RIGHT = 0, LEFT = 4, NEIGHBOURS = 8 };

static int64_t neighbour(const dq_borders *borders, int64_t cell, int direction) {
  const int64_t row = borders->width + 2;
  const int64_t steps[NEIGHBOURS] = {1, row + 1, row, row - 1, -1, -row - 1, -row, -row + 1};
  return cell + steps[direction % NEIGHBOURS];
}

static void extend(dq_borders *borders, int64_t cell) {
  const int64_t row = cell / (borders->width + 2) - 1;
  const int32_t column = (int32_t)(cell % (borders->width + 2) - 1);
  // A border is followed from the highest row on, and enters rows below one after the other.
  if (row > borders->bottom) {
    borders->bottom = row;
    borders->first[row] = borders->last[row] = column;
  }
  if (column < borders->first[row]) borders->first[row] = column;
  if (column > borders->last[row]) borders->last[row] = column;
}

// Follows the border of `start` counterclockwise; `outside` is the direction of a neighbour that is not in the region.
static void follow(dq_borders *borders, int64_t start, int outside, bool record) {
  uint8_t *cells = borders->cells;
  int back = outside; // the direction of the cell before
  do back++;
  while (back < outside + NEIGHBOURS && !cells[neighbour(borders, start, back)]);
  if (record) extend(borders, start);
  if (back == outside + NEIGHBOURS) { // a region of one cell
    cells[start] = PASSED;
    return;
  }
  const int64_t end = neighbour(borders, start, back);
  for (int64_t cell = start;;) {
    bool right_outside = false;
    int direction = back % NEIGHBOURS + NEIGHBOURS;
    while (!cells[neighbour(borders, cell, --direction)])
      if (direction % NEIGHBOURS == RIGHT) right_outside = true;
    if (right_outside) cells[cell] = PASSED;
    else if (cells[cell] == FREE) cells[cell] = SEEN;
    const int64_t next = neighbour(borders, cell, direction);
    if (record) extend(borders, next);
    if (next == start && cell == end) return;
    back = direction + NEIGHBOURS / 2;
    cell = next;
  }
}

bool dq_border_next(dq_borders *borders) {
  const int64_t row = borders->width + 2, end = row * (borders->height + 1);
  const uint8_t *cells = borders->cells;
  for (int64_t cell = borders->next; cell < end; cell++) {
    if (!cells[cell]) continue;
    if (cells[cell] == FREE && !cells[cell - 1]) {
      borders->top = cell / row - 1;
      borders->bottom = borders->top - 1;
      follow(borders, cell, LEFT, true);
      borders->next = cell + 1;
      return true;
    }
    if (cells[cell] != PASSED && !cells[cell + 1]) follow(borders, cell, RIGHT, false);
  }
  borders->next = end;
  return false;
}
