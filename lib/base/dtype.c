#include "lib/base/dtype.h"

const char *dq_dtype_name(int type) {
  switch (type) {
#define DQ_DTYPE(symbol, id, name, bits, type)                                                                         \
  case id:                                                                                                             \
    return name;
#include "lib/base/dtype.def"
#undef DQ_DTYPE
  default: return "unknown type";
  }
}

int dq_dtype_bits(int type) {
  switch (type) {
#define DQ_DTYPE(symbol, id, name, bits, type)                                                                         \
  case id:                                                                                                             \
    return bits;
#include "lib/base/dtype.def"
#undef DQ_DTYPE
  default: return 0;
  }
}

bool dq_dtype_known(int type) {
  switch (type) {
#define DQ_DTYPE(symbol, id, name, bits, type) case id:
#include "lib/base/dtype.def"
#undef DQ_DTYPE
    return true;
  default: return false;
  }
}

enum {
  NARROW_SIGNED = (1 << DQ_I2) | (1 << DQ_I4) | (1 << DQ_I8) | (1 << DQ_I16) | (1 << DQ_I32),
  NARROW_UNSIGNED = (1 << DQ_U2) | (1 << DQ_U4) | (1 << DQ_U8) | (1 << DQ_U16) | (1 << DQ_U32),
};
static bool is_one_of(int type, unsigned types) { return type > 0 && type < 32 && (DQ_BIT(type) & types) != 0; }

int64_t dq_dtype_low(int type) {
  return is_one_of(type, NARROW_SIGNED) ? -((int64_t)1 << (dq_dtype_bits(type) - 1)) : 0;
}

int64_t dq_dtype_high(int type) {
  if (is_one_of(type, NARROW_SIGNED)) return ((int64_t)1 << (dq_dtype_bits(type) - 1)) - 1;
  return is_one_of(type, NARROW_UNSIGNED) ? ((int64_t)1 << dq_dtype_bits(type)) - 1 : 0;
}

bool dq_dtype_computable(int type) { return is_one_of(type, DQ_TYPES_ALL); }

size_t dq_dtype_size(int type) { return dq_dtype_computable(type) ? (size_t)dq_dtype_bits(type) / 8 : 0; }
