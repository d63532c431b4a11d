// Element types of tensors; the numbers are ONNX's TensorProto.DataType.
#ifndef DQ_BASE_DTYPE_H
#define DQ_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dq_dtype {
  DQ_UNKNOWN_TYPE = 0,
#define DQ_DTYPE(symbol, id, name, bits, type) DQ_##symbol = id,
#include "lib/base/dtype.def"
#undef DQ_DTYPE
} dq_dtype;

// Sets of types as bit masks.
#define DQ_BIT(type) (1u << (type))
enum {
  DQ_TYPES_FLOAT = (1 << DQ_F32) | (1 << DQ_F64) | (1 << DQ_F16),
  DQ_TYPES_SIGNED = (1 << DQ_I8) | (1 << DQ_I16) | (1 << DQ_I32) | (1 << DQ_I64),
  DQ_TYPES_UNSIGNED = (1 << DQ_U8) | (1 << DQ_U16) | (1 << DQ_U32) | (1 << DQ_U64),
  DQ_TYPES_8_BIT = (1 << DQ_U8) | (1 << DQ_I8),
  DQ_TYPES_INTEGER = DQ_TYPES_SIGNED | DQ_TYPES_UNSIGNED,
  DQ_TYPES_NUMBER = DQ_TYPES_FLOAT | DQ_TYPES_INTEGER,
  DQ_TYPES_ALL = DQ_TYPES_NUMBER | (1 << DQ_BOOL), // everything operators compute with
};

const char *dq_dtype_name(int type); // such as "float32"; static, also for an unknown type
bool dq_dtype_computable(int type);  // whether operators compute with the type: DQ_TYPES_ALL
int dq_dtype_bits(int type);         // bits of an element; 0 for strings and unknown types
size_t dq_dtype_size(int type);      // bytes of an element of a computable type, else 0
bool dq_dtype_known(int type);       // whether ONNX has a type of this number
// Whether the type is one of DQ_TYPES_FLOAT.
static inline bool dq_dtype_is_float(int type) { return type == DQ_F32 || type == DQ_F16 || type == DQ_F64; }
// Whether the type is one of DQ_TYPES_8_BIT.
static inline bool dq_dtype_is_8_bit(int type) { return type == DQ_U8 || type == DQ_I8; }
// The least and the largest number of an integer type of 2 to 32 bits; 0 for all other types.
int64_t dq_dtype_low(int type);
int64_t dq_dtype_high(int type);

#endif
