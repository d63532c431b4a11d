// Conversions and their jobs: how they begin and end.
#include "quant/int8/job.h"

dq_status dq_int8_conversion_open(dq_int8_conversion *conversion, dq_graph *graph, const char *tool,
                                  const dq_int8_options *options, const dq_context *context, dq_error *error) {
  dq_int8_input *in = &conversion->in;
  dq_int8_job *job = &conversion->job;
  *conversion =
      (dq_int8_conversion){.in = {.options = options, .context = context, .weight_type = &dq_weight_type_int8}};
  in->given = options->table ? options->table : options->start;
  *job = (dq_int8_job){.in = in, .error = error, .graph = graph, .arena = dq_context_arena(context)};
  job->origin = job->arena ? dq_origin_begin(graph, tool) : NULL;
  if (!job->origin) return dq_fail_memory(error, 0);
  DQ_TRY(dq_precision_index_make(&in->precisions, options->precision, job->arena, error));
  return in->given ? dq_calibration_table_index(&in->given_ranges, in->given, job->arena, error) : DQ_OK;
}

void dq_int8_conversion_close(dq_int8_conversion *conversion) {
  for (int i = 0; i < 2; i++) dq_observed_close(&conversion->of_file[i]);
  dq_data_free(conversion->in_turns);
  dq_arena_free(conversion->job.arena);
}

dq_int8_job dq_int8_look(const dq_int8_job *of, dq_int8_report *report) {
  return (dq_int8_job){.in = of->in,
                       .error = of->error,
                       .setting = of->setting,
                       .pictures = of->pictures,
                       .observed = of->observed,
                       .graph = of->graph,
                       .arena = of->arena,
                       .origin = of->origin,
                       .report = report};
}

dq_status dq_int8_trial_open(dq_int8_job *trial, const dq_int8_job *of, const dq_int8_setting *setting,
                             const dq_int8_pictures *pictures, dq_observed *observed, dq_int8_report *report) {
  *trial = (dq_int8_job){.in = of->in,
                         .error = of->error,
                         .setting = *setting,
                         .pictures = *pictures,
                         .observed = observed,
                         .graph = dq_graph_copy(of->graph),
                         .arena = dq_context_arena(of->in->context),
                         .report = report};
  trial->origin = trial->graph ? dq_origin_begin(trial->graph, "trial") : NULL;
  return trial->arena && trial->origin ? DQ_OK : dq_fail_memory(trial->error, 0);
}

void dq_int8_trial_close(dq_int8_job *trial) {
  dq_origin_discard(trial->origin);
  dq_arena_free(trial->arena);
  dq_graph_free(trial->graph);
}
