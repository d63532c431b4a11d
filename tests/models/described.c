#include "tests/models/described.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/onnx/onnx.h"

enum { OPSET = 13, MOST = 160 }; // MOST: operands or outputs of a node, numbers of a list

typedef struct description {
  dq_graph *graph;
  dq_random random;
} description;

// Numbers with commas between, up to a character that belongs to none; how many.
static int numbers(const char *text, double *out) {
  int count = 0;
  char *end;
  for (const char *at = text; count < MOST; at = end + 1) {
    double x = strtod(at, &end);
    if (end == at) break;
    out[count++] = x;
    if (*end != ',') break;
  }
  return count;
}

static dq_tensor *tensor_of(description *d, char kind, const double *list, int count) {
  int64_t dims[DQ_MAX_RANK] = {count};
  if (strchr("fis", kind)) {
    dq_tensor *tensor = dq_tensor_new(d->graph->arena, kind == 'i' ? DQ_I64 : DQ_F32, kind != 's', dims);
    for (int i = 0; tensor && i < count; i++) dq_tensor_set(tensor, i, list[i]);
    return tensor;
  }
  for (int i = 0; i < count && i < DQ_MAX_RANK; i++) dims[i] = (int64_t)list[i];
  dq_tensor *tensor = dq_tensor_new(d->graph->arena, DQ_F32, count, dims);
  if (!tensor) return NULL;
  float size = kind == 'b' ? 0.1f : 1 / sqrtf((float)dq_tensor_product(tensor, 1, count)), *elements = tensor->data;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++)
    elements[i] = kind == 'p' ? 0.5f + dq_random_float(&d->random) : size * dq_random_normal(&d->random);
  return tensor;
}

// The value of an operand; NULL with *good false when it cannot be read.
static dq_value *operand(description *d, const char *node, const char *text, bool *good) {
  if (!strcmp(text, "-")) return NULL;
  if (!strchr(text, '(')) return dq_graph_add_value(d->graph, text);
  double list[MOST];
  char name[128];
  int count = numbers(text + 2, list);
  dq_tensor *tensor = text[1] == '(' && strchr("wbpfsi", *text) && count ? tensor_of(d, *text, list, count) : NULL;
  *good = *good && tensor;
  snprintf(name, sizeof name, "%s.%c", node, *text);
  return tensor ? dq_graph_add_constant(d->graph, name, tensor) : NULL;
}

static bool set_attribute(description *d, dq_node *node, char *text) {
  char *value = strchr(text, '='), *end;
  *value++ = 0;
  double list[MOST];
  int64_t ints[MOST];
  if (strchr(value, ',') && strchr("-0123456789", *value)) {
    int count = numbers(value, list);
    for (int i = 0; i < count; i++) ints[i] = (int64_t)list[i];
    return dq_node_set_ints(d->graph, node, text, ints, count);
  }
  double x = strtod(value, &end);
  if (*end || end == value) return dq_node_set_string(d->graph, node, text, value);
  if (strchr(value, '.')) return dq_node_set_float(d->graph, node, text, (float)x);
  return dq_node_set_int(d->graph, node, text, (int64_t)x);
}

static dq_value **appended(description *d, dq_value **list, int *count, dq_value *value) {
  dq_value **longer = DQ_NEW_ARRAY(d->graph->arena, *count + 1, dq_value *);
  for (int i = 0; i < *count; i++) longer[i] = list[i];
  longer[(*count)++] = value;
  return longer;
}

static void declare(description *d, bool is_input, char **words, int count) {
  dq_value *value = dq_graph_add_value(d->graph, words[0]);
  dq_dimension *dims = DQ_NEW_ARRAY(d->graph->arena, count, dq_dimension);
  for (int i = 1; i < count; i++) {
    const bool number = strchr("-0123456789", *words[i]);
    dims[i - 1].size = number ? atoll(words[i]) : -1;
    dims[i - 1].symbol = number ? dims[i - 1].size == -1 ? "N" : NULL : words[i];
  }
  value->type = DQ_F32, value->rank = count > 1 ? count - 1 : -1, value->dims = dims;
  if (is_input) value->is_input = true, d->graph->inputs = appended(d, d->graph->inputs, &d->graph->input_count, value);
  else value->is_output = true, d->graph->outputs = appended(d, d->graph->outputs, &d->graph->output_count, value);
}

// A property of the model, whose value are the words behind the key with spaces between.
static bool set_property(description *d, char **words, int count) {
  char value[1024] = "";
  for (int i = 1; i < count; i++)
    snprintf(value + strlen(value), sizeof value - strlen(value), "%s%s", i > 1 ? " " : "", words[i]);
  return dq_graph_set_property(d->graph, words[0], value, NULL) == DQ_OK;
}

// One line of at least three words.
static bool read_line(description *d, char **words, int count) {
  if (!strcmp(words[0], "input") || !strcmp(words[0], "output")) {
    declare(d, words[0][0] == 'i', words + 1, count - 1);
    return true;
  }
  if (count < 3) return false;
  if (!strcmp(words[0], "property")) return set_property(d, words + 1, count - 1);
  if (!strcmp(words[0], "opset") && !strcmp(words[1], "=")) {
    d->graph->opsets[0].version = atoll(words[2]);
    return true;
  }
  if (strcmp(words[1], "=") != 0) return false;
  dq_value *inputs[MOST], *outputs[MOST];
  int input_count = 0, output_count = 0, at = 3;
  bool good = true;
  for (char *name = strtok(words[0], ","); name && output_count < MOST; name = strtok(NULL, ","))
    outputs[output_count++] = dq_graph_add_value(d->graph, name);
  for (; at < count && !strchr(words[at], '=') && input_count < MOST; at++)
    inputs[input_count++] = operand(d, outputs[0]->name, words[at], &good);
  if (!good) return false;
  dq_node *node = dq_graph_add_node(d->graph, d->graph->node_count, words[2], outputs[0]->name, input_count, inputs,
                                    output_count, outputs);
  for (; at < count; at++)
    if (!strncmp(words[at], "name=", 5)) node->name = words[at] + 5;
    else if (!strchr(words[at], '=') || !set_attribute(d, node, words[at])) return false;
  return true;
}

static int read_lines(description *d, FILE *file) {
  char line[1024], *words[2 * MOST];
  for (int number = 1; fgets(line, sizeof line, file); number++) {
    int count = 0;
    for (char *word = strtok(line, " \n"); word && count < 2 * MOST; word = strtok(NULL, " \n")) words[count++] = word;
    if (!count || *words[0] == '#') continue;
    for (int i = 0; i < count; i++) words[i] = dq_arena_copy(d->graph->arena, words[i], strlen(words[i]) + 1);
    if (count >= 2 && read_line(d, words, count)) continue;
    fprintf(stderr, "line %d cannot be read\n", number);
    return 2;
  }
  return 0;
}

int write_described_model(const char *text_path, const char *path) {
  dq_error error = {0};
  FILE *file = fopen(text_path, "r");
  if (!file) return 5;
  description d = {dq_graph_new(0), {3}};
  if (!d.graph || dq_graph_set_opset(d.graph, "", OPSET, &error) != DQ_OK) return 5;
  d.graph->ir_version = 7;
  d.graph->name = "described";
  int status = read_lines(&d, file);
  fclose(file);
  if (!status) status = (int)dq_onnx_save(d.graph, path, &error);
  if (*error.message) fprintf(stderr, "%s\n", error.message);
  dq_graph_free(d.graph);
  return status;
}
