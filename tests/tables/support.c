// Writes docs/SUPPORT.md from the operator table: make support.
#include <stdio.h>
#include <string.h>

#include "lib/onnx/onnx.h"
#include "lib/ops/table/operator.h"

static void print_versions(const dq_operator *row) {
  for (int i = 0; i < DQ_MAX_VERSIONS && row->since[i]; i++) printf("%s%d", i ? ", " : "", row->since[i]);
}

static void print_types(const dq_operator *row) {
  static const struct {
    unsigned types;
    const char *name;
  } groups[] = {{DQ_TYPES_ALL, "all"}, {DQ_TYPES_FLOAT, "floats"}, {DQ_TYPES_INTEGER, "integers"}};
  const char *separator = "";
  unsigned types = row->types | (row->flags & DQ_OP_HALF ? DQ_BIT(DQ_F16) : 0);
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if ((types & groups[i].types) == groups[i].types) {
      printf("%s%s", separator, groups[i].name);
      types &= ~groups[i].types;
      separator = ", ";
    }
  for (int type = 0; type < 32; type++)
    if (types & DQ_BIT(type)) {
      printf("%s%s", separator, dq_dtype_name(type));
      separator = ", ";
    }
}

static void print_row(const dq_operator *row) {
  static const char *const categories[] = {"DENY", "ALLOW", "FOLLOW"};
  static const char *const rules[] = {"", "compute", "share", "absorb", "table", "combine"};
  printf("| %s%s%s | ", row->domain ? row->domain : "", row->domain ? " " : "", row->name);
  print_versions(row);
  printf(" | ");
  print_types(row);
  bool emitted = row->emit || row->flags & DQ_OP_VIEW;
  printf(" | %s | %s | %s |\n", categories[row->category], rules[row->quantization], emitted ? "yes" : "");
}

int main(void) {
  int count = 0;
  for (int i = 0; dq_operator_at(i); i++)
    count += !dq_operator_at(i)->domain || strcmp(dq_operator_at(i)->domain, "dq");
  printf("# Operators\n\n"
         "Written by `make support` from the operator table; a test keeps it so. %d operators, opsets "
         "%d to %d.\n\n"
         "- **Versions**: the forms that are read. A model's opset selects the newest one that is not "
         "above it.\n"
         "- **Types**: of the first input. *floats* are float32, float16 and float64; *integers* are "
         "8 to 64 bits, with and without sign; *all* are these and bool. float16 is computed in "
         "float32 and rounded after every node.\n"
         "- **dq-amp**: the colour of the operator. ALLOW: float16; DENY: float32; FOLLOW: what "
         "casts fewer bytes.\n"
         "- **dq-int8**: *compute*: products with a weight; *share*: the result has the scale of the "
         "input; *absorb*: only narrows the range of what is before it; *table*: a function of one "
         "value; *combine*: several inputs, a scale of its own; empty: stays in float.\n"
         "- **dq-cc**: *yes*: the operator has C, at least in float32 or on 8 bits; `dq-cc` names a node whose form "
         "has none.\n\n"
         "An operator, version or type that is not here is an error that names the node "
         "(exit status 4). `dq-report` tells all of them and goes on.\n\n"
         "| operator | versions | types | dq-amp | dq-int8 | dq-cc |\n| --- | --- | --- | --- | --- | --- |\n",
         count, DQ_OPSET_OLDEST, DQ_OPSET_NEWEST);
  for (int i = 0; dq_operator_at(i); i++) {
    const dq_operator *row = dq_operator_at(i);
    if (!row->domain || strcmp(row->domain, "dq")) print_row(row);
  }
  return 0;
}
