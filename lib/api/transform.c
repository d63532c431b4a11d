// What the transforms of the public interface share.
#include <stdlib.h>

#include "lib/api/api_internal.h"
#include "lib/verdict/verdict.h"

dq_status dq_api_begin(dq_model *model, const void *facts, dq_error *error) {
  DQ_TRY(dq_api_check_facts(facts, error));
  if (model->networks)
    return dq_fail(error, DQ_USAGE, "%d networks are open on the model, expected none; close them first",
                   model->networks);
  dq_api_forget(model);
  return DQ_OK;
}

dq_status dq_api_take(dq_model *model, dq_transform transform, dq_graph *base, dq_graph *answer, bool changed,
                      dq_error *error) {
  dq_kept_graphs *kept = malloc(sizeof *kept);
  dq_status status = kept ? dq_graph_index(answer, false, error) : dq_fail_memory(error, sizeof *kept);
  if (status != DQ_OK) {
    free(kept);
    dq_graph_free(answer);
    dq_graph_free(base);
    return status;
  }
  *kept = (dq_kept_graphs){.graphs = {changed ? base : answer, changed ? model->graph : base}, .next = model->kept};
  model->kept = kept;
  if (changed) model->graph = answer;
  model->last = transform;
  return DQ_OK;
}

dq_status dq_api_check_verdict(const dq_verdict *verdict, const dq_verdict_bounds *bounds, dq_error *error) {
  return dq_verdict_check(verdict, bounds, "the converted model", error);
}
