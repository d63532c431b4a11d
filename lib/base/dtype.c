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

bool dq_dtype_computable(int type) { return type > 0 && type < 32 && (DQ_BIT(type) & DQ_TYPES_ALL) != 0; }

size_t dq_dtype_size(int type) { return dq_dtype_computable(type) ? (size_t)dq_dtype_bits(type) / 8 : 0; }
