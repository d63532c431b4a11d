// Comparisons of exact sums, and counts in the windows of a plane, for the audit in vectors of the compiler; included
// behind audit_body.h.
static inline __attribute__((always_inline)) void compare(dq_audit_comparison *c, const int lanes) {
  int different = 0, unsure = 0;
  for (int i = 0; i < lanes; i++) {
    different += c->sums[i] != c->last[i];
    unsure += (c->sums[i] == c->last[i]) & (c->top[i] == INT16_MAX);
  }
  c->different = different;
  c->unsure = unsure;
}

void AUDIT(dq_audit_compare)(dq_audit_comparison *c) {
  if (c->lanes == DQ_AUDIT_LANES) compare(c, DQ_AUDIT_LANES);
  else compare(c, c->lanes);
}

static int count_outside(const int32_t *sums, int count, int32_t low, int32_t high) {
  int outside = 0;
  for (int i = 0; i < count; i++) outside += (sums[i] < low) | (sums[i] > high);
  return outside;
}

static void find_extremes(dq_audit_whole *w) {
  int32_t lowest = INT32_MAX, highest = INT32_MIN;
  for (int64_t i = 0; i < w->count; i++) {
    lowest = w->sums[i] < lowest ? w->sums[i] : lowest;
    highest = w->sums[i] > highest ? w->sums[i] : highest;
  }
  w->lowest = lowest;
  w->highest = highest;
}

// Bounds that both extremes keep need no counting.
static uint64_t count_all_outside(const dq_audit_whole *w, int32_t low, int32_t high) {
  enum { PART = 1 << 20 };
  uint64_t outside = 0;
  if (w->lowest >= low && w->highest <= high) return 0;
  for (int64_t from = 0; from < w->count; from += PART)
    outside +=
        (uint64_t)count_outside(w->sums + from, (int)(w->count - from < PART ? w->count - from : PART), low, high);
  return outside;
}

void AUDIT(dq_audit_whole)(dq_audit_whole *w) {
  find_extremes(w);
  w->outside16 = count_all_outside(w, INT16_MIN, INT16_MAX);
  w->outside_low16 = count_all_outside(w, w->low16, w->high16);
  w->outside_low32 = count_all_outside(w, w->low32, w->high32);
}

// Rows and columns are taken from the plane; a number in both was taken twice.
static void trim_window(const dq_audit_trims *t, const dq_audit_trim *trim, uint32_t *restrict counts) {
  enum { STEP = 16 };
  for (int b = 0; b < t->bound_count; b += STEP) {
    const uint32_t *whole = t->whole + b, *lines = whole + t->count_stride;
    uint32_t sums[STEP];
    for (int i = 0; i < STEP; i++) sums[i] = whole[i] + (t->zero >= t->bounds[b + i] ? trim->padding : 0);
    for (uint32_t rows = trim->rows; rows; rows &= rows - 1)
      for (int i = 0; i < STEP; i++) sums[i] -= lines[__builtin_ctz(rows) * t->count_stride + i];
    for (uint32_t columns = trim->columns; columns; columns &= columns - 1)
      for (int i = 0; i < STEP; i++) sums[i] -= lines[(t->rows + __builtin_ctz(columns)) * t->count_stride + i];
    for (uint32_t rows = trim->rows; rows; rows &= rows - 1)
      for (uint32_t columns = trim->columns; columns; columns &= columns - 1) {
        uint8_t corner = t->corners[__builtin_ctz(rows) * t->columns + __builtin_ctz(columns)];
        for (int i = 0; i < STEP; i++) sums[i] += corner >= t->bounds[b + i];
      }
    for (int i = 0; i < STEP; i++) counts[b + i] = sums[i];
  }
}

void AUDIT(dq_audit_trims)(const dq_audit_trims *t) {
  for (int i = 0; i < t->windows; i++) trim_window(t, &t->trims[i], t->counts + i * t->count_stride);
}
