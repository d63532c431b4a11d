// The table of passes.
#include "lib/passes/passes_internal.h"

static const dq_pass passes[] = {
#define DQ_PASS(symbol, name, help) {name, help, dq_pass_##symbol},
#include "lib/passes/passes.def"
#undef DQ_PASS
    {NULL, NULL, NULL}};

const dq_pass *dq_pass_at(int index) { return passes[index].name ? &passes[index] : NULL; }

dq_status dq_passes_run(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_error *error) {
  for (int i = 0; dq_pass_at(i); i++) {
    DQ_TRY(dq_check_stop(context, error));
    DQ_TRY(dq_pass_at(i)->run(copy, shapes, context, error));
    DQ_TRY(dq_graph_index(copy, false, error));
  }
  return DQ_OK;
}
