#include "lib/eval/stored_preset.h"

#include "lib/document/origin.h"

void dq_apply_stored_preset(dq_data_options *options, const dq_graph *graph, const dq_context *context) {
  if (options->preset || options->preprocess) return;
  const char *text = dq_origin_preset(graph, context);
  if (!text) return;
  options->preprocess = text;
  dq_message(context, DQ_NOTE, "preprocessing: %s, as the model remembers", text);
}
