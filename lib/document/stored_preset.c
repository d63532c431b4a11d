#include "lib/document/stored_preset.h"

#include "lib/document/origin.h"
#include "lib/document/preset_guess.h"

void dq_apply_stored_preset(dq_data_options *options, const dq_graph *graph, const dq_context *context) {
  if (options->preset || options->preprocess) return;
  const char *property, *text = dq_origin_preset(graph, context);
  if (text) dq_message(context, DQ_NOTE, "preprocessing: %s, as the model remembers", text);
  else if ((text = dq_guess_preset(graph, &property)))
    dq_message(context, DQ_NOTE, "preprocessing: %s, as the model's metadata property '%s' says; --preset overrides it",
               text, property);
  options->preprocess = text;
}

dq_status dq_input_reach(double *reach, const dq_graph *graph, const dq_data *data, const char *preset,
                         const char *preprocess, const dq_context *context, dq_error *error) {
  const char *property;
  *reach = 0;
  if (dq_input_count(graph) != 1 || (data && !dq_data_is_pictures(data))) return DQ_OK;
  if (data) preset = NULL, preprocess = dq_data_preprocess_text(data);
  else if (!preset && !preprocess && !(preprocess = dq_origin_preset(graph, context)) &&
           !(preprocess = dq_guess_preset(graph, &property)))
    return DQ_OK;
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_status status = dq_preprocess_reach(reach, preset, preprocess, arena, error);
  dq_arena_free(arena);
  return status;
}
