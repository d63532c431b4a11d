// Quantizes a model to int8, or converts it to float16, and runs both it and the result.
//   cc example.c -o example $(pkg-config --cflags --libs dq)
//   ./example model.onnx small.onnx synth:shapes,size=8     int8, with these pictures
//   ./example model.onnx small.onnx                         float16; runs on zeros
#include <dq.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_message(void *user, dq_notice notice, const char *text) {
  (void)user;
  if (notice == DQ_NOTICE_WARNING) fprintf(stderr, "warning: %s\n", text);
}

static dq_code print_cost(dq_model *model, const char *title, dq_failure *failure) {
  dq_model_cost_facts cost = {.size = sizeof cost};
  dq_code code = dq_model_cost(model, NULL, &cost, failure);
  if (code == DQ_CODE_OK)
    printf("%s: %d nodes, %" PRId64 " MACs (%" PRId64 " int8), %" PRId64 " parameters, %" PRId64 " bytes\n", title,
           cost.nodes, cost.macs, cost.int8_macs, cost.parameters, cost.parameter_bytes);
  return code;
}

static void print_top(const dq_array *output) {
  const float *scores = (const float *)output->data;
  uint64_t best = 0, count = output->bytes / sizeof *scores;
  if (output->type != 1 || count == 0) return; // 1: float32
  for (uint64_t i = 1; i < count; i++)
    if (scores[i] > scores[best]) best = i;
  printf("%s: class %" PRIu64 " (%g)\n", output->name, best, (double)scores[best]);
}

// Runs the first picture, or zeros where there is no data.
static dq_code run(dq_model *model, dq_dataset *dataset, dq_failure *failure) {
  dq_network *network;
  dq_array array;
  dq_code code = dq_network_open(&network, model, NULL, failure);
  if (code != DQ_CODE_OK) return code;
  for (int i = 0; dq_network_input(network, i, &array); i++) memset(array.data, 0, array.bytes);
  if (dataset) code = dq_network_read(network, dataset, 0, 0, NULL, failure);
  if (code == DQ_CODE_OK) code = dq_network_run(network, failure);
  if (code == DQ_CODE_OK && dq_network_output(network, 0, &array)) print_top(&array);
  dq_network_close(network);
  return code;
}

static dq_code quantize(dq_model *model, dq_dataset *dataset, dq_failure *failure) {
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.method = "minmax";
  dq_model_int8_facts facts = {.size = sizeof facts};
  dq_code code = dq_model_int8(model, dataset, &options, &facts, failure);
  if (code != DQ_CODE_OK) return code;
  printf("%d of %d operators quantized\n", facts.quantized, facts.operators);
  dq_model_int8_row row = {.size = sizeof row};
  for (int i = 0; dq_model_int8_at(model, i, &row); i++)
    if (!row.reason[0]) printf("  %s: scale %g, zero point %d\n", row.name, row.scale, row.zero_point);
  return DQ_CODE_OK;
}

static dq_code halve(dq_model *model, dq_failure *failure) {
  dq_model_amp_facts facts = {.size = sizeof facts};
  dq_code code = dq_model_amp(model, NULL, &facts, failure);
  if (code == DQ_CODE_OK) printf("%d of %d nodes in float16\n", facts.half_nodes, facts.nodes);
  return code;
}

static dq_code work(dq_model *model, dq_dataset *dataset, const char *to, dq_failure *failure) {
  dq_code code = print_cost(model, "before", failure);
  if (code == DQ_CODE_OK) code = run(model, dataset, failure);
  if (code == DQ_CODE_OK) code = dataset ? quantize(model, dataset, failure) : halve(model, failure);
  if (code == DQ_CODE_OK) code = print_cost(model, "after", failure);
  if (code == DQ_CODE_OK) code = run(model, dataset, failure);
  if (code == DQ_CODE_OK) code = dq_model_save(model, to, failure);
  return code;
}

int main(int argc, char **argv) {
  dq_failure failure = {DQ_CODE_OK, "", ""};
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: example MODEL OUT [DATA]\n");
    return DQ_CODE_USAGE;
  }
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.message = print_message;
  dq_engine *engine = NULL;
  dq_model *model = NULL;
  dq_dataset *dataset = NULL;
  dq_code code = dq_engine_open(&engine, &options, &failure);
  if (code == DQ_CODE_OK) code = dq_model_load(&model, engine, argv[1], &failure);
  if (code == DQ_CODE_OK && argc == 4) code = dq_dataset_open(&dataset, engine, argv[3], NULL, &failure);
  if (code == DQ_CODE_OK) code = work(model, dataset, argv[2], &failure);
  if (code != DQ_CODE_OK) fprintf(stderr, "%s\n", failure.message);
  dq_dataset_close(dataset);
  dq_model_free(model);
  dq_engine_close(engine);
  return code;
}
