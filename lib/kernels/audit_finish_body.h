// What is left to count of 32 whole sums, in the compiler's vectors; included behind audit_body.h.
static inline __attribute__((always_inline)) void finish(dq_audit_end *end, const int lanes) {
  int outside16 = 0, outside_low16 = 0, outside_low32 = 0;
  int32_t lowest = INT32_MAX, highest = INT32_MIN;
  for (int i = 0; i < lanes; i++) {
    int32_t sum = end->sums[i];
    outside16 += (sum < INT16_MIN) | (sum > INT16_MAX);
    outside_low16 += (sum < end->low16) | (sum > end->high16);
    outside_low32 += (sum < end->low32) | (sum > end->high32);
    lowest = sum < lowest ? sum : lowest;
    highest = sum > highest ? sum : highest;
  }
  end->outside16 = outside16;
  end->outside_low16 = outside_low16;
  end->outside_low32 = outside_low32;
  end->lowest = lowest;
  end->highest = highest;
  end->different = end->unsure = 0;
  if (!end->last) return;
  int different = 0, unsure = 0;
  for (int i = 0; i < lanes; i++) {
    different += end->sums[i] != end->last[i];
    unsure += (end->sums[i] == end->last[i]) & (end->top[i] == INT16_MAX);
  }
  end->different = different;
  end->unsure = unsure;
}

void AUDIT(dq_audit_finish)(dq_audit_end *end) {
  if (end->lanes == DQ_AUDIT_LANES) finish(end, DQ_AUDIT_LANES);
  else finish(end, end->lanes);
}
