#include "lib/schedule/open_sizes.h"

#include "lib/base/sizes.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { LONGEST_NAME = 16, LONGEST_BATCH_NAME = 2, VISITS = 1 << 20, ATTEMPTS = 4 };

static const int pictures[][2] = {{224, 224}, {256, 256}, {320, 320}, {416, 416}, {512, 512}, {640, 640},
                                  {48, 320},  {32, 320},  {192, 192}, {160, 160}, {128, 128}, {96, 96},
                                  {64, 64},   {32, 32},   {28, 28},   {16, 16}};
static const int channels[] = {3, 1, 4, 2};
static const int lengths[] = {128, 256, 512, 576, 1024, 4096, 16000, 64, 32, 16, 8, 4, 2, 1};

// ---- Names ----

// The symbol of a dimension where it is a word: some exporters write "?" for every open size.
static const char *word(const char *symbol) {
  for (const char *c = symbol; c && *c; c++)
    if (isalnum((unsigned char)*c)) return symbol;
  return NULL;
}

static bool is_plain(const char *symbol) {
  size_t length = symbol ? strlen(symbol) : 0;
  if (!length || length > LONGEST_NAME || !isalpha((unsigned char)symbol[0])) return false;
  for (const char *c = symbol; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_') return false;
  return true;
}

static bool is_picture(const dq_value *input) { return input->rank == 4 || input->rank == 5; }

// C, H or W for a dimension of a picture, D for any other.
static char letter_of(const dq_value *input, int dimension) {
  int64_t sizes[DQ_MAX_RANK];
  int rank = input->rank;
  if (!is_picture(input)) return 'D';
  for (int i = 0; i < rank; i++) sizes[i] = input->dims[i].size;
  if (dq_channels_last(rank, sizes)) return "NHWC"[dimension];
  if (dimension == 1) return 'C';
  return dimension == rank - 2 ? 'H' : dimension == rank - 1 ? 'W' : 'D';
}

static bool is_taken(const dq_sizes *sizes, const char *name) {
  for (int i = 0; i < sizes->count; i++)
    if (sizes->open[i].name && !strcmp(sizes->open[i].name, name)) return true;
  return false;
}

static const char *name_of(const dq_sizes *sizes, const dq_open_size *open, dq_arena *arena) {
  char letter = letter_of(open->input, open->dimension);
  const char *symbol = open->symbol, *name;
  if (!open->dimension) name = is_plain(symbol) && strlen(symbol) <= LONGEST_BATCH_NAME ? symbol : "N";
  else if (is_plain(symbol) && !is_taken(sizes, symbol)) name = symbol;
  else if (letter == 'D') name = dq_arena_printf(arena, "D%d", open->dimension);
  else name = dq_arena_printf(arena, "%c", letter);
  const char *unique = name;
  for (int i = 2; unique && is_taken(sizes, unique); i++) unique = dq_arena_printf(arena, "%s_%d", name, i);
  return unique;
}

// ---- What is open ----

int dq_sizes_find(const dq_sizes *sizes, const dq_value *input, int dimension) {
  if (input->dims[dimension].size >= 0) return -1;
  const char *symbol = word(input->dims[dimension].symbol);
  for (int i = 0; i < sizes->count; i++) {
    const dq_open_size *open = &sizes->open[i];
    if (!dimension && !open->dimension) return i; // the batch of all inputs
    if (!open->dimension && letter_of(input, dimension) != 'D') continue;
    if (symbol ? open->symbol && !strcmp(open->symbol, symbol) : open->input == input && open->dimension == dimension)
      return i;
  }
  return -1;
}

// The size given to another dimension with the same symbol, from dimension `first` on; -1: none.
static int64_t given_elsewhere(const dq_graph *graph, const dq_shape_request *given, const char *symbol, int first) {
  for (int i = 0; symbol && i < graph->input_count; i++) {
    const dq_value *input = graph->inputs[i];
    for (int d = first; !input->constant && d < input->rank; d++) {
      const char *other = input->dims[d].size < 0 ? word(input->dims[d].symbol) : NULL;
      int64_t size = other && !strcmp(other, symbol) ? dq_input_given(graph, input, given, d) : -1;
      if (size >= 0) return size;
    }
  }
  return -1;
}

static dq_open_size describe(const dq_graph *graph, const dq_shape_request *given, const dq_value *input,
                             int dimension) {
  dq_open_size open = {.symbol = word(input->dims[dimension].symbol),
                       .input = input,
                       .dimension = dimension,
                       .size = 1,
                       .source = DQ_SIZE_DEFAULT};
  int64_t elsewhere =
      given_elsewhere(graph, given, open.symbol, letter_of(input, dimension) != 'D' && dimension ? 1 : 0);
  if (elsewhere < 0 && !dimension && given && given->batch) elsewhere = given->batch;
  if (elsewhere >= 0) {
    open.size = elsewhere;
    open.source = DQ_SIZE_GIVEN;
  } else if (dimension && input->usual && input->usual[dimension] > 0) {
    open.size = input->usual[dimension];
    open.source = DQ_SIZE_REMEMBERED;
  } else if (dimension) {
    open.source = DQ_SIZE_ASSUMED;
  }
  return open;
}

// Adds the open dimensions of an input that the request does not give: the batch, or all others.
static bool add_open(dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given, const dq_value *input,
                     bool batch, dq_arena *arena) {
  if (input->constant || input->rank > DQ_MAX_RANK) return true;
  for (int d = batch ? 0 : 1; d < (batch && input->rank > 0 ? 1 : input->rank); d++) {
    if (input->dims[d].size >= 0 || dq_input_given(graph, input, given, d) >= 0) continue;
    if (dq_sizes_find(sizes, input, d) >= 0) continue;
    dq_open_size open = describe(graph, given, input, d);
    if (!(open.name = name_of(sizes, &open, arena))) return false;
    sizes->open[sizes->count++] = open;
  }
  return true;
}

static dq_status find_open(dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given, dq_arena *arena,
                           dq_error *error) {
  int64_t most = 1;
  for (int i = 0; i < graph->input_count; i++) most += graph->inputs[i]->rank > 0 ? graph->inputs[i]->rank : 0;
  *sizes = (dq_sizes){.open = DQ_NEW_ARRAY(arena, most, dq_open_size), .fit = true};
  if (!sizes->open) return dq_fail_memory(error, (size_t)most * sizeof *sizes->open);
  for (int pass = 0; pass < 2; pass++) // the batch first: other dimensions may have its symbol
    for (int i = 0; i < graph->input_count; i++)
      if (!add_open(sizes, graph, given, graph->inputs[i], pass == 0, arena))
        return dq_fail_memory(error, LONGEST_NAME);
  return DQ_OK;
}

// ---- Requests ----

dq_status dq_sizes_request(const dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given, int twice,
                           dq_arena *arena, dq_shape_request *request, dq_error *error) {
  int count = given ? given->input_count : 0;
  dq_input_shape *shapes = DQ_NEW_ARRAY(arena, count + graph->input_count + 1, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, (size_t)(count + graph->input_count) * sizeof *shapes);
  for (int i = 0; i < count; i++) shapes[i] = given->inputs[i];
  for (int i = 0; i < graph->input_count; i++) {
    const dq_value *input = graph->inputs[i];
    if (input->constant || input->rank < 1 || input->rank > DQ_MAX_RANK) continue;
    dq_input_shape *shape = &shapes[count];
    *shape = (dq_input_shape){.name = input->name, .rank = input->rank};
    bool any = false;
    for (int d = 0; d < input->rank; d++) {
      int open = dq_sizes_find(sizes, input, d);
      shape->dims[d] = open < 0 ? -1 : sizes->open[open].size * (open == twice ? 2 : 1);
      any |= open >= 0;
    }
    count += any; // every shape of a request is looked at for every input: those that say nothing are left out
  }
  *request = (dq_shape_request){.batch = given ? given->batch : 0, .inputs = shapes, .input_count = count};
  return DQ_OK;
}

// ---- The assumption ----

// Assumes candidate `picture`, `channel` and `length` of the tables; false: nothing is assumed.
static bool assume(dq_sizes *sizes, int picture, int channel, int length) {
  bool any = false;
  for (int i = 0; i < sizes->count; i++) {
    dq_open_size *open = &sizes->open[i];
    if (open->source != DQ_SIZE_ASSUMED) continue;
    switch (letter_of(open->input, open->dimension)) {
    case 'H': open->size = pictures[picture][0]; break;
    case 'W': open->size = pictures[picture][1]; break;
    case 'C': open->size = channels[channel]; break;
    default: open->size = lengths[length];
    }
    any = true;
  }
  return any;
}

static bool has_letter(const dq_sizes *sizes, const char *letters) {
  for (int i = 0; i < sizes->count; i++)
    if (sizes->open[i].source == DQ_SIZE_ASSUMED &&
        strchr(letters, letter_of(sizes->open[i].input, sizes->open[i].dimension)))
      return true;
  return false;
}

// Whether shapes can be inferred at these sizes.
static dq_status attempt(const dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given,
                         const dq_context *context, dq_error *error) {
  dq_context silent = context ? *context : (dq_context){0};
  silent.message = NULL;
  dq_arena *arena = dq_context_arena(&silent);
  dq_shape_request request;
  dq_tensor *tensors;
  dq_status status = arena ? dq_sizes_request(sizes, graph, given, -1, arena, &request, error)
                           : dq_fail_memory(error, sizeof *tensors);
  if (status == DQ_OK) status = dq_check_stop(&silent, error);
  if (status == DQ_OK) status = dq_infer_at(graph, &request, DQ_INFER_PARTIAL, &silent, arena, &tensors, error);
  dq_arena_free(arena);
  return status;
}

dq_status dq_sizes_assume(dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given,
                          const dq_context *context, dq_arena *arena, dq_error *error) {
  DQ_TRY(find_open(sizes, graph, given, arena, error));
  if (!assume(sizes, 0, 0, 0)) return DQ_OK;
  int ways = has_letter(sizes, "HW") ? DQ_COUNT(pictures) : 1, kinds = has_letter(sizes, "C") ? DQ_COUNT(channels) : 1;
  int total = ways * kinds * (has_letter(sizes, "D") ? DQ_COUNT(lengths) : 1);
  int allowed = VISITS / (graph->node_count + 1) + ATTEMPTS;
  for (int i = 0; i < total && i < allowed; i++) {
    dq_error problem = {0};
    assume(sizes, i % ways, i / ways % kinds, i / ways / kinds);
    dq_status status = attempt(sizes, graph, given, context, &problem);
    sizes->fit = status == DQ_OK;
    if (sizes->fit) return DQ_OK;
    if (status == DQ_SYSTEM || status == DQ_CANCELLED) {
      if (error) *error = problem;
      return status;
    }
    if (!i) sizes->misfit = problem;
  }
  assume(sizes, 0, 0, 0);
  return DQ_OK;
}

bool dq_sizes_assumed(const dq_sizes *sizes) {
  for (int i = 0; i < sizes->count; i++)
    if (sizes->open[i].source == DQ_SIZE_ASSUMED) return true;
  return false;
}

dq_status dq_sizes_share(dq_graph *to, const dq_graph *from, dq_error *error) {
  for (int i = 0; i < to->input_count; i++) {
    dq_value *input = to->inputs[i];
    const dq_value *other = dq_graph_find(from, input->name);
    if (input->usual || !other || !other->usual || other->rank != input->rank) continue;
    size_t bytes = (size_t)input->rank * sizeof *input->usual;
    if (!(input->usual = dq_arena_copy(to->arena, other->usual, bytes))) return dq_fail_memory(error, bytes);
  }
  return DQ_OK;
}

// ---- The option ----

static bool needs_option(const dq_sizes *sizes, const dq_value *input) {
  for (int d = 0; !input->constant && d < input->rank && input->rank <= DQ_MAX_RANK; d++) {
    int open = dq_sizes_find(sizes, input, d);
    if (open >= 0 && sizes->open[open].source == DQ_SIZE_ASSUMED) return true;
  }
  return false;
}

static const char *input_sizes(const dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given,
                               const dq_value *input, dq_arena *arena) {
  const char *text = "";
  for (int d = 0; text && d < input->rank; d++) {
    int open = dq_sizes_find(sizes, input, d);
    int64_t size = open < 0 ? dq_input_given(graph, input, given, d) : sizes->open[open].size;
    if (size < 0) size = input->dims[d].size;
    bool batch = open >= 0 && sizes->open[open].source == DQ_SIZE_DEFAULT;
    text = batch ? dq_arena_printf(arena, "%s%sN", text, d ? "," : "")
                 : dq_arena_printf(arena, "%s%s%" PRId64, text, d ? "," : "", size);
  }
  return text;
}

const char *dq_sizes_option(const dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given,
                            dq_arena *arena) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:";
  const char *text = "";
  for (int i = 0; text && i < graph->input_count; i++) {
    const dq_value *input = graph->inputs[i];
    if (!needs_option(sizes, input)) continue;
    const char *quote = input->name[strspn(input->name, plain)] ? "'" : "";
    const char *list = input_sizes(sizes, graph, given, input, arena);
    text =
        list ? dq_arena_printf(arena, "%s%s--shape %s%s=%s%s", text, *text ? " " : "", quote, input->name, list, quote)
             : NULL;
  }
  return text;
}
