#include "lib/document/preset_guess.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/decode/metadata.h"

typedef struct guess {
  const char *preset, *author, *task, *description;
  bool boxes;
} guess;

static const guess guesses[] = {
#define DQ_PRESET_GUESS(preset, author, task, description, boxes) {preset, author, task, description, boxes},
#include "lib/document/preset_guesses.def"
#undef DQ_PRESET_GUESS
};

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool begins(const char *text, const char *part) {
  while (*part && small(*text) == *part) text++, part++;
  return !*part;
}

// Whether `part`, which is in small letters, is somewhere in the text.
static bool contains(const char *text, const char *part) {
  while (*text && !begins(text, part)) text++;
  return *text;
}

static bool is(const dq_graph *graph, const char *key, const char *value) {
  const char *text = dq_graph_property(graph, key);
  return text && !strcmp(text, value);
}

// ---- Values of properties ----

// The largest of the whole numbers in a text as "[384, 640]" or "32"; 0: the text has another form, or a number is not
// from 1 to 65536.
static int largest_number(const char *text) {
  const bool list = text && *text == '[';
  int largest = 0;
  for (const char *at = text ? text + list : ""; *at; at += at[1] == ' ' ? 2 : 1) {
    int number = 0;
    for (; *at >= '0' && *at <= '9' && number <= 65536; at++) number = number * 10 + *at - '0';
    if (number < 1 || number > 65536) return 0;
    if (number > largest) largest = number;
    if (!list || *at != ',') return strcmp(at, list ? "]" : "") ? 0 : largest;
  }
  return 0;
}

// ---- The rows ----

// Whether the first output is that of a detector that is no RT-DETR: N x (4 + classes) x cells, or rows that are not
// 4 + classes long, or rows that the network has chosen itself. RT-DETR has N x queries x (4 + classes).
static bool has_cells(const dq_graph *graph) {
  const dq_value *output = graph->output_count ? graph->outputs[0] : NULL;
  const int64_t classes = dq_name_count(dq_graph_property(graph, "names"));
  if (!output || output->rank != 3 || classes == 0 || is(graph, "head", "RTDETRDecoder")) return false;
  const int64_t rows = output->dims[1].size, fields = output->dims[2].size;
  return rows == classes + 4 || is(graph, "end2end", "True") || (fields > 0 && fields != classes + 4);
}

static bool holds(const guess *row, const dq_graph *graph) {
  const char *description = dq_graph_property(graph, "description");
  if (!is(graph, "author", row->author) || !is(graph, "task", row->task)) return false;
  if (row->description && (!description || !contains(description, row->description))) return false;
  return !row->boxes || has_cells(graph);
}

// The text for a preset, with the sizes that the properties tell where the input leaves them open.
static const char *with_sizes(const char *preset, const dq_graph *graph, const dq_value *input) {
  const int longest = largest_number(dq_graph_property(graph, "imgsz"));
  const int multiple = largest_number(dq_graph_property(graph, "stride"));
  const bool open = input->dims[2].size < 0 || input->dims[3].size < 0;
  if (!open || !longest || !multiple) return dq_arena_strdup(graph->arena, preset);
  return dq_arena_printf(graph->arena, "%s,longest=%d,multiple=%d", preset, longest, multiple);
}

const char *dq_guess_preset(const dq_graph *graph, const char **property) {
  const dq_value *input = NULL;
  for (int i = 0; i < graph->input_count; i++) {
    if (graph->inputs[i]->constant) continue;
    if (input) return NULL;
    input = graph->inputs[i];
  }
  if (!input || input->rank != 4) return NULL;
  for (size_t i = 0; i < DQ_COUNT(guesses); i++) {
    if (!holds(&guesses[i], graph)) continue;
    *property = guesses[i].description ? "description" : "task";
    return with_sizes(guesses[i].preset, graph, input);
  }
  return NULL;
}
