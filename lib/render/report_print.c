// Writes a report in one of its formats.
#include "lib/base/file.h"
#include "lib/render/render_internal.h"

dq_status dq_report_print(const dq_report *report, dq_report_format format, const dq_text_style *style, FILE *stream,
                          dq_error *error) {
  if (!report) return dq_fail_memory(error, sizeof *report);
  if (report->failure != DQ_OK) {
    if (error) *error = report->failure_error;
    return report->failure;
  }
  switch (format) {
  case DQ_FORMAT_CSV: return dq_report_print_csv(report, stream, error);
  case DQ_FORMAT_JSON: return dq_report_print_json(report, stream, error);
  case DQ_FORMAT_HTML: return dq_report_print_html(report, stream, error);
  default: return dq_report_print_text(report, style, stream, error);
  }
}

dq_status dq_report_write(const dq_report *report, dq_report_format format, const char *path,
                          const dq_text_style *style, dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  dq_status status = dq_report_print(report, format, style, output.stream, error);
  if (status == DQ_OK) return dq_output_commit(&output, error);
  dq_output_discard(&output);
  return status;
}
