// Finds the row of a table by its name.
#ifndef DQ_TEXT_FIND_ROW_H
#define DQ_TEXT_FIND_ROW_H

#include <stddef.h>

// The index of the first of `count` rows of `size` bytes whose name is `name`, or -1. A row is a struct that begins
// with its name, a const char pointer, or that pointer alone; a row whose name is NULL ends the table.
int dq_find_row(const char *name, const void *rows, size_t size, int count);

#endif
