// The table of kernels and the search in it.
#include "lib/base/sizes.h"
#include "lib/kernels/table/kernel_table.h"

static const char *const families[] = {
#define DQ_OPERATION(operation, family) family,
#include "lib/kernels/table/kernels.def"
};

#define DQ_KERNEL(operation, symbol, feature, rows, columns, types)                                                    \
  {DQ_OPERATION_##operation, #operation, #symbol, feature, rows, columns, types, (void (*)(void))symbol},
static const dq_kernel kernels[] = {
#include "lib/kernels/table/kernels.def"
};

enum { COUNT = DQ_COUNT(kernels) };

int dq_kernel_count(void) { return COUNT; }

const dq_kernel *dq_kernel_row(int index) { return &kernels[index]; }

const char *dq_kernel_family(const dq_kernel *kernel) { return families[kernel->operation]; }

const dq_kernel *dq_kernel_find(int operation, unsigned cpu) {
  for (int i = COUNT - 1; i >= 0; i--) { // the last that fits, called for every row of some operators
    if (kernels[i].operation != operation) continue;
    unsigned needed = dq_cpu_with_implied(kernels[i].feature);
    if ((cpu & needed) == needed) return &kernels[i];
  }
  return NULL;
}
