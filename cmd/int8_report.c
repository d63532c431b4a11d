#include "cmd/int8_report.h"

#include "cmd/shared/command.h"
#include "lib/render/report.h"
#include "lib/report/report_accuracy.h"
#include "lib/report/report_int8.h"
#include "lib/report/report_verdict.h"

static dq_status print(const dq_common_options *common, const dq_int8_report *found,
                       const dq_quantization_check *layers, const dq_accuracy_change *accuracy, bool overflow,
                       dq_error *error) {
  char title[512];
  snprintf(title, sizeof title, "INT8 quantization of %s", common->operands[0]);
  dq_report *report = dq_report_new("dq-int8", 1, title);
  dq_report_int8(report, found, layers, overflow);
  dq_report_verdict(report, &found->verdict);
  dq_report_accuracy_change(report, &accuracy->before, &accuracy->after);
  dq_status status = dq_command_report(common, report, error);
  dq_report_free(report);
  return status;
}

dq_status dq_int8_print(const dq_common_options *common, const dq_int8_report *found,
                        const dq_quantization_check *layers, const dq_accuracy_change *accuracy, bool overflow,
                        const dq_context *context, dq_error *error) {
  dq_status status = DQ_OK;
  if (dq_command_writes(context)) status = print(common, found, layers, accuracy, overflow, error);
  return dq_processes_agree(context->processes, status, error);
}

const char *dq_int8_unchanged(const dq_int8_report *found) {
  if (found->nothing_to_do) return "nothing to do, the model is quantized already";
  return found->verdict.count ? "all layers stay in float" : "nothing to do, no operator can be quantized";
}

void dq_int8_say_readers(const dq_int8_options *options, const dq_context *context) {
  if (!options->qoperator) return;
  dq_message(context, DQ_NOTE,
             "the operator form is read by ONNX Runtime; %s, and tract 0.23 has no QLinearAdd and no QLinearConcat "
             "(--format qdq is read alike by all three)",
             options->per_tensor ? "OpenVINO 2026.4 reads it with --per-tensor"
                                 : "OpenVINO 2026.4 takes its scales per channel for others, without an error");
}
