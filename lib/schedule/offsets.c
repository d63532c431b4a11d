// Offsets of values in one block, each in the smallest gap that fits. The order is that of orders[] which needs least,
// or one that comes of it when whatever then lies highest is placed first, again and again: by size and by breadth are
// from Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020. More than MOST_ORDERED
// values are placed once, step by step, which takes time in proportion to their number and to that of gaps.
#include "lib/schedule/offsets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"

enum { MOST_ORDERED = 4096 };

typedef int comparison(const void *a, const void *b);

static int by_size(const void *a, const void *b) {
  const dq_span *left = a, *right = b;
  if (left->bytes != right->bytes) return left->bytes < right->bytes ? 1 : -1;
  return left->value - right->value;
}
static int by_breadth(const void *a, const void *b) {
  const dq_span *left = a, *right = b;
  if (left->breadth != right->breadth) return left->breadth < right->breadth ? 1 : -1;
  return by_size(a, b);
}
static int by_length(const void *a, const void *b) {
  const dq_span *left = a, *right = b;
  int own = left->last - left->first, other = right->last - right->first;
  return own != other ? other - own : by_size(a, b);
}
static int by_step(const void *a, const void *b) {
  const dq_span *left = a, *right = b;
  return left->first != right->first ? left->first - right->first : by_size(a, b);
}
static comparison *const orders[] = {by_size, by_breadth, by_length, by_step};
enum { ORDERS = DQ_COUNT(orders) };

// ---- Few values: several orders ----

typedef struct gap_search {
  size_t best, best_gap, end; // best offset, size of its gap
  bool found;
} gap_search;

// The lowest-waste offset for `span` among those placed already (in order of offset).
static size_t find_offset(const dq_span *placed, int count, const dq_span *span) {
  gap_search search = {0};
  for (int i = 0; i < count; i++) {
    const dq_span *other = &placed[i];
    if (other->last < span->first || span->last < other->first) continue;
    if (other->offset > search.end) {
      size_t gap = other->offset - search.end;
      if (gap >= span->bytes && (!search.found || gap < search.best_gap))
        search.found = true, search.best = search.end, search.best_gap = gap;
    }
    if (other->offset + other->bytes > search.end) search.end = other->offset + other->bytes;
  }
  return search.found ? search.best : search.end;
}

static void insert_by_offset(dq_span *placed, int count, const dq_span *span) {
  int at = count;
  while (at > 0 && placed[at - 1].offset > span->offset) at--;
  memmove(placed + at + 1, placed + at, (size_t)(count - at) * sizeof *placed);
  placed[at] = *span;
}

// The bytes that all need when they are placed in this order.
static size_t place_all(dq_span *spans, int count, dq_span *placed) {
  size_t end = 0;
  for (int i = 0; i < count; i++) {
    spans[i].offset = find_offset(placed, i, &spans[i]);
    insert_by_offset(placed, i, &spans[i]);
    if (spans[i].offset + spans[i].bytes > end) end = spans[i].offset + spans[i].bytes;
  }
  return end;
}

// Brings the value that reaches highest to the front; false when it stands there.
static bool promote_highest(dq_span *spans, int count) {
  int highest = 0;
  size_t end = 0;
  for (int i = 0; i < count; i++) {
    if (spans[i].offset + spans[i].bytes <= end) continue;
    end = spans[i].offset + spans[i].bytes;
    highest = i;
  }
  dq_span moved = spans[highest];
  memmove(spans + 1, spans, (size_t)highest * sizeof *spans);
  spans[0] = moved;
  return highest > 0;
}

// Every order, and what comes of it when whatever lies highest is placed first. `best` and `placed` are arrays for
// `count` spans.
static size_t place_best(dq_span *spans, int count, size_t live, dq_span *best, dq_span *placed) {
  enum { PROMOTIONS = 24 }; // of each order
  size_t least = SIZE_MAX;
  for (int order = 0; order < ORDERS && least > live; order++) {
    qsort(spans, (size_t)count, sizeof *spans, orders[order]);
    bool more = true;
    for (int i = 0; i <= PROMOTIONS && more && least > live; i++) {
      size_t bytes = place_all(spans, count, placed);
      if (bytes < least) {
        least = bytes;
        memcpy(best, spans, (size_t)count * sizeof *spans);
      }
      more = promote_highest(spans, count);
    }
  }
  memcpy(spans, best, (size_t)count * sizeof *spans);
  return least;
}

// ---- Many values: in the order of steps ----

typedef struct gap {
  size_t offset, bytes;
} gap;

// What is free below `top`, where the highest of the values alive ends: gaps in the order of offsets, none of which
// touches another or the top.
typedef struct free_list {
  gap *gaps;
  int count;
  size_t top;
} free_list;

// The smallest gap that fits, the lowest of equal ones; else what lies at the top.
static size_t allocate(free_list *list, size_t bytes) {
  int best = -1;
  for (int i = 0; i < list->count; i++)
    if (list->gaps[i].bytes >= bytes && (best < 0 || list->gaps[i].bytes < list->gaps[best].bytes)) best = i;
  if (best < 0) {
    list->top += bytes;
    return list->top - bytes;
  }
  gap *from = &list->gaps[best];
  size_t offset = from->offset;
  from->offset += bytes;
  from->bytes -= bytes;
  if (!from->bytes) memmove(from, from + 1, (size_t)(--list->count - best) * sizeof *from);
  return offset;
}

// The first gap behind `offset`.
static int first_behind(const free_list *list, size_t offset) {
  int low = 0, high = list->count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (list->gaps[middle].offset < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void give_back(free_list *list, size_t offset, size_t bytes) {
  int at = first_behind(list, offset);
  gap *before = at > 0 ? &list->gaps[at - 1] : NULL, *behind = at < list->count ? &list->gaps[at] : NULL;
  bool touches = before && before->offset + before->bytes == offset;
  if (touches) before->bytes += bytes;
  else if (behind && offset + bytes == behind->offset) behind->offset = offset, behind->bytes += bytes;
  else {
    memmove(list->gaps + at + 1, list->gaps + at, (size_t)(list->count++ - at) * sizeof *list->gaps);
    list->gaps[at] = (gap){offset, bytes};
  }
  if (touches && behind && before->offset + before->bytes == behind->offset) {
    before->bytes += behind->bytes;
    memmove(behind, behind + 1, (size_t)(--list->count - at) * sizeof *behind);
  }
  const gap *last = &list->gaps[list->count - 1];
  if (last->offset + last->bytes == list->top) list->top = last->offset, list->count--;
}

// Indices of spans by the step that they end with, which is at most `steps`. `starts` is zeroed, of steps + 2 elements.
static void order_by_end(const dq_span *spans, int count, int steps, int *starts, int *ends) {
  for (int i = 0; i < count; i++) starts[spans[i].last + 1]++;
  for (int s = 0; s <= steps; s++) starts[s + 1] += starts[s];
  for (int i = 0; i < count; i++) ends[starts[spans[i].last]++] = i;
}

// `spans` are in the order of their first steps, `gaps` is an array for one more than there are spans.
static size_t place_by_step(dq_span *spans, int count, const int *ends, gap *gaps) {
  free_list list = {.gaps = gaps};
  size_t most = 0;
  for (int i = 0, e = 0; i < count; i++) {
    for (; e < count && spans[ends[e]].last < spans[i].first; e++)
      give_back(&list, spans[ends[e]].offset, spans[ends[e]].bytes);
    spans[i].offset = allocate(&list, spans[i].bytes);
    if (list.top > most) most = list.top;
  }
  return most;
}

// ---- Both ----

// `changes` is zeroed, of steps + 2 elements: what is alive from step to step, by wrapping differences. Sets the
// breadths of few spans.
static size_t find_live_bytes(dq_span *spans, int count, int steps, size_t *changes) {
  for (int i = 0; i < count; i++) {
    changes[spans[i].first < 0 ? 0 : spans[i].first] += spans[i].bytes;
    changes[spans[i].last < steps ? spans[i].last + 1 : steps] -= spans[i].bytes;
  }
  size_t live = 0, most = 0;
  for (int s = 0; s < steps; s++) {
    live += changes[s];
    if (live > most) most = live;
    for (int i = 0; i < count && count <= MOST_ORDERED; i++)
      if (spans[i].first <= s && s <= spans[i].last && spans[i].breadth < live) spans[i].breadth = live;
  }
  return most;
}

static dq_status place_many(dq_span *spans, int count, int steps, size_t *bytes, dq_error *error) {
  int *starts = calloc((size_t)steps + 2, sizeof *starts), *ends = calloc((size_t)count, sizeof *ends);
  gap *gaps = calloc((size_t)count + 1, sizeof *gaps);
  bool fits = starts && ends && gaps;
  if (fits) {
    qsort(spans, (size_t)count, sizeof *spans, by_step);
    order_by_end(spans, count, steps, starts, ends);
    *bytes = place_by_step(spans, count, ends, gaps);
  }
  free(starts), free(ends), free(gaps);
  return fits ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof *gaps);
}

static dq_status place_few(dq_span *spans, int count, size_t live, size_t *bytes, dq_error *error) {
  dq_span *memory = calloc(2 * (size_t)count + 1, sizeof *memory);
  if (!memory) return dq_fail_memory(error, 2 * (size_t)count * sizeof *memory);
  *bytes = place_best(spans, count, live, memory, memory + count);
  free(memory);
  return DQ_OK;
}

dq_status dq_offsets_find(dq_span *spans, int count, int steps, size_t *live, size_t *bytes, dq_error *error) {
  size_t *changes = calloc((size_t)steps + 2, sizeof *changes);
  if (!changes) return dq_fail_memory(error, (size_t)steps * sizeof *changes);
  *live = find_live_bytes(spans, count, steps, changes);
  free(changes);
  return count > MOST_ORDERED ? place_many(spans, count, steps, bytes, error)
                              : place_few(spans, count, *live, bytes, error);
}
