// The table of kernels: kernels.def with its functions declared, and the search in it.
//
// Common rules of kernels. They work on plain pointers and know no graphs and no tensors. Which function runs is read
// from the table kernels.def by the features in `cpu` (dq_context.cpu); results are the same bits for every set of
// features and thread count. Pointers are not NULL unless said. `packed` and `scratch` come from the caller,
// aligned to DQ_KERNEL_ALIGNMENT bytes (dq_arena_alloc of large blocks, aligned_alloc); inputs and outputs need only
// the alignment of their element. Inputs and outputs do not overlap unless said. `pool` may be NULL
// (one thread); scratch must have been sized for at least dq_pool_threads(pool) threads. Sizes are
// validated by the *_plan and *_check functions, everything after them cannot fail.
#ifndef DQ_KERNELS_KERNEL_TABLE_H
#define DQ_KERNELS_KERNEL_TABLE_H

#include "lib/base/cpu.h"
#include "lib/kernels/table/audit_forms.h"
#include "lib/kernels/reference/forms.h"
#include "lib/kernels/reference/forms_f64.h"

enum { DQ_KERNEL_ALIGNMENT = 64 }; // of packed and scratch, in bytes

// One row of kernels.def: a function for one operation and one instruction set.
typedef struct dq_kernel {
  int operation; // rows of one operation are interchangeable
  const char *operation_name, *symbol;
  unsigned feature;  // one DQ_CPU_ bit, or 0 for any machine
  int rows, columns; // outputs side by side; 0 where it does not apply
  const char *types;
  void (*function)(void); // of the type dq_<operation>_function
} dq_kernel;

// The rows of kernels.def, static; 0 <= index < dq_kernel_count().
int dq_kernel_count(void);
const dq_kernel *dq_kernel_row(int index);
// The family of operations that a kernel belongs to, static, as dqcheck --only names it.
const char *dq_kernel_family(const dq_kernel *kernel);

enum dq_operation {
#define DQ_OPERATION(operation, family) DQ_OPERATION_##operation,
#include "lib/kernels/table/kernels.def"
  DQ_OPERATIONS
};
#define DQ_KERNEL(operation, symbol, feature, rows, columns, types) dq_##operation##_function symbol;
#include "lib/kernels/table/kernels.def"

// The row of an operation (DQ_OPERATION_...) with the most capable instruction set among the features `cpu`; NULL: the
// operation has no row for them.
const dq_kernel *dq_kernel_find(int operation, unsigned cpu);
// The number that is added to operands of 8 bits for a row whose types begin with s8 or u8: 0 when their type is that
// of the row, else -128 or 128, which a flip of the top bit of each byte does.
static inline int32_t dq_byte_shift(const dq_kernel *row, bool is_signed) {
  bool wanted_signed = row->types[0] == 's';
  return wanted_signed == is_signed ? 0 : is_signed ? 128 : -128;
}
#define DQ_KERNEL_FUNCTION(operation, cpu)                                                                             \
  ((dq_##operation##_function *)dq_kernel_find(DQ_OPERATION_##operation, cpu)->function)

#endif
