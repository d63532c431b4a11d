#include "quant/int8/int8_files.h"

#include "lib/document/origin.h"

dq_status dq_int8_files_read(dq_int8_files *files, const dq_graph *graph, dq_data *data, dq_int8_options *options,
                             dq_arena *arena, dq_error *error) {
  files->graph = graph;
  if (data && (files->table || files->use_table))
    DQ_TRY(dq_data_hash(&files->data_hash, graph, &options->shapes, data, error));
  if (!files->use_table) return DQ_OK;
  DQ_TRY(dq_calibration_table_load(&files->used, files->use_table, arena, error));
  dq_status fits = files->force ? DQ_OK
                                : dq_calibration_table_check(&files->used, files->use_table, dq_origin_hash(graph),
                                                             data ? &files->data_hash : NULL, error);
  if (fits == DQ_BAD_INPUT) dq_error_hint(error, "--force takes it all the same");
  DQ_TRY(fits);
  if (!data) files->data_hash = files->used.data;
  const dq_observer *method = dq_observer_find(files->used.method);
  if (method) options->method = method;
  options->table = &files->used;
  return DQ_OK;
}

dq_status dq_int8_files_write(const dq_int8_files *files, dq_int8_report *report, dq_arena *arena, dq_error *error) {
  if (files->table && report->quantized) {
    report->table.data = files->data_hash;
    DQ_TRY(dq_calibration_table_export(&report->table,
                                       files->format ? files->format : dq_calibration_table_format_for(files->table),
                                       files->table, error));
  }
  if (!files->precision || !report->count) return DQ_OK;
  dq_precision_map map;
  DQ_TRY(dq_int8_precision(report, files->graph, arena, &map, error));
  return dq_precision_save(&map, files->precision, error);
}
