#include "decomp/fit/responses.h"

#include <string.h>

#include "lib/base/random.h"
#include "lib/base/sizes.h"
#include "lib/session/runner.h"
#include "lib/ops/window.h"

// A site while pictures run: the positions looked at and their vectors.
typedef struct watched {
  const dq_response_site *site;
  dq_window window;
  int64_t rows, *positions;
  double *vectors; // rows x group x size
} watched;

typedef struct measurement {
  watched *watched;
  int count;
  bool now; // the tap that runs is of the current network (or of the only one)
  bool both;
  int64_t picture;
  const dq_context *context;
  dq_arena *arena;
} measurement;

static int64_t output_positions(const dq_window *w) { return w->output[0] * w->output[1]; }

// Which positions of the output are looked at in this picture: all, or evenly spread ones.
static void choose_positions(watched *w, int64_t picture, uint64_t seed) {
  int64_t all = output_positions(&w->window);
  dq_random random = dq_random_start(seed, (uint64_t)picture);
  int64_t step = dq_max_i64(1, all / w->rows);
  int64_t start = all > w->rows ? (int64_t)dq_random_below(&random, (uint64_t)step) : 0;
  for (int64_t r = 0; r < w->rows; r++) w->positions[r] = start + r * all / w->rows;
}

// Positions of a matrix product: all of its rows, one below the other.
static dq_window rows_window(int64_t rows) {
  return (dq_window){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .input = {rows, 1}, .output = {rows, 1}};
}

static dq_status open_window(watched *w, const dq_tensor *input, const measurement *m, dq_error *error) {
  const dq_moments *moments = w->site->moments;
  dq_op op = {.context = m->context, .node = w->site->node, .error = error};
  if (input->rank < 1 || (!w->site->matrix && input->rank != 4))
    return dq_fail(error, DQ_UNSUPPORTED, "'%s' has no 4 known dimensions", w->site->input);
  if (w->site->matrix) w->window = rows_window(dq_tensor_count(input) / moments->in);
  else DQ_TRY(dq_window_read(&op, input, moments->kernel, &w->window));
  w->rows = dq_min_i64(output_positions(&w->window), DQ_RESPONSE_POSITIONS);
  w->positions = DQ_NEW_ARRAY(m->arena, w->rows, int64_t);
  w->vectors = DQ_NEW_ARRAY(m->arena, w->rows * moments->group * moments->size, double);
  if (w->positions && w->vectors) return DQ_OK;
  return dq_fail_memory(error, (size_t)(w->rows * moments->group * moments->size) * sizeof(double));
}

// The channels of one input position into the vectors' patches; zeros beyond the border.
static void gather_tap(const watched *w, const float *values, int64_t y, int64_t x, int64_t tap, double *vector) {
  const dq_moments *m = w->site->moments;
  int64_t height = w->window.input[0], width = w->window.input[1];
  bool inside = y >= 0 && y < height && x >= 0 && x < width;
  int64_t place = y * width + x, stride = w->site->matrix ? 1 : height * width;
  const float *from = inside ? values + (w->site->matrix ? place * m->in : place) : NULL;
  for (int64_t g = 0; g < m->group; g++)
    for (int64_t i = 0; i < m->in; i++)
      vector[g * m->size + tap * m->in + i] = inside ? (double)from[(g * m->in + i) * stride] : 0;
}

static void gather_patches(const watched *w, const dq_tensor *input) {
  const dq_window *win = &w->window;
  const dq_moments *m = w->site->moments;
  for (int64_t r = 0; r < w->rows; r++) {
    double *vector = w->vectors + r * m->group * m->size;
    int64_t top = w->positions[r] / win->output[1] * win->stride[0] - win->begin[0];
    int64_t left = w->positions[r] % win->output[1] * win->stride[1] - win->begin[1];
    for (int64_t t = 0; t < m->taps; t++)
      gather_tap(w, input->data, top + t / win->kernel[1] * win->dilation[0],
                 left + t % win->kernel[1] * win->dilation[1], t, vector);
    for (int64_t g = 0; g < m->group; g++) vector[(g + 1) * m->size - 1] = 1;
  }
}

static dq_status gather_answers(const watched *w, const dq_tensor *answers, double sign, dq_error *error) {
  const dq_moments *m = w->site->moments;
  int64_t positions = output_positions(&w->window), first = dq_moments_patch(m);
  int64_t channels = m->group * m->out, stride = w->site->matrix ? 1 : positions;
  int64_t step = w->site->matrix ? channels : 1;
  if (answers->rank < (w->site->matrix ? 1 : 2) || dq_tensor_count(answers) != channels * positions ||
      answers->dims[w->site->matrix ? answers->rank - 1 : 1] != channels)
    return dq_fail(error, DQ_UNSUPPORTED, "'%s': answers of another shape", w->site->output);
  const float *values = answers->data;
  for (int64_t r = 0; r < w->rows; r++)
    for (int64_t o = 0; o < m->group * m->out; o++)
      w->vectors[(r * m->group + o / m->out) * m->size + first + o % m->out] +=
          sign * (double)values[o * stride + w->positions[r] * step];
  return DQ_OK;
}

static dq_status tap(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  measurement *m = user;
  for (int i = 0; i < m->count; i++) {
    watched *w = &m->watched[i];
    const dq_response_site *site = w->site;
    if (m->now && !strcmp(value->name, site->input)) gather_patches(w, tensor);
    bool original = !m->now || !m->both;
    if (original && !strcmp(value->name, site->output)) DQ_TRY(gather_answers(w, tensor, 1, error));
    if (m->both && site->beside && !strcmp(value->name, site->beside))
      DQ_TRY(gather_answers(w, tensor, m->now ? -1 : 1, error));
  }
  return DQ_OK;
}

static dq_status open_network(dq_runner *runner, const dq_graph *graph, const char *const *names, int count,
                              const dq_response_run *run, measurement *m, dq_error *error) {
  dq_runner_options options = {.session = {.taps = names, .tap_count = count}, .ends = names, .end_count = count};
  if (run->shapes) options.session.shapes = *run->shapes;
  DQ_TRY(dq_runner_open(runner, graph, run->data, &options, m->context, error));
  dq_plan_set_tap(runner->session.plan, tap, m);
  return DQ_OK;
}

// Before a picture: its positions, and answers that the taps then add to.
static void start_picture(const measurement *m) {
  for (int i = 0; i < m->count; i++) {
    const watched *w = &m->watched[i];
    const dq_moments *moments = w->site->moments;
    for (int64_t v = 0; v < w->rows * moments->group; v++)
      memset(w->vectors + v * moments->size + dq_moments_patch(moments), 0, (size_t)moments->out * sizeof(double));
    choose_positions(&m->watched[i], m->picture, m->context->seed);
  }
}

// The windows of all sites, from the shapes that the network has with this input.
static dq_status open_windows(measurement *m, const dq_graph *graph, dq_plan *plan, dq_error *error) {
  const dq_tensor *input = dq_plan_input(plan, 0);
  dq_input_shape shape = {.name = dq_plan_input_name(plan, 0), .rank = input->rank};
  memcpy(shape.dims, input->dims, sizeof shape.dims);
  dq_shape_request request = {.inputs = &shape, .input_count = 1};
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, &request, DQ_INFER_TOLERANT, m->context, m->arena, &tensors, error));
  for (int i = 0; i < m->count; i++) {
    const dq_value *value = dq_graph_find(graph, m->watched[i].site->input);
    DQ_TRY(open_window(&m->watched[i], &tensors[value->index], m, error));
  }
  return DQ_OK;
}

static dq_status run_pictures(measurement *m, const dq_response_run *run, dq_runner runners[2], dq_error *error) {
  for (m->picture = 0; m->picture < run->pictures; m->picture++) {
    DQ_TRY(dq_check_stop(m->context, error));
    DQ_TRY(dq_runner_read(&runners[0], m->picture, 1, NULL, error));
    if (m->both) DQ_TRY(dq_runner_share(&runners[1], &runners[0], error));
    start_picture(m);
    m->now = true;
    DQ_TRY(dq_runner_run(&runners[0], error));
    m->now = false;
    if (m->both) DQ_TRY(dq_runner_run(&runners[1], error));
    for (int i = 0; i < m->count; i++)
      DQ_TRY(dq_moments_add(m->watched[i].site->moments, m->watched[i].rows, m->watched[i].vectors, m->context, error));
    dq_progress(m->context, run->doing, m->picture + 1, run->pictures);
  }
  return DQ_OK;
}

static dq_status measure(measurement *m, const dq_response_run *run, dq_runner runners[2], dq_error *error) {
  const char **now = DQ_NEW_ARRAY(m->arena, 3 * m->count, const char *);
  const char **before = DQ_NEW_ARRAY(m->arena, 2 * m->count, const char *);
  if (!now || !before) return dq_fail_memory(error, (size_t)m->count * sizeof *now);
  int now_count = 0, before_count = 0;
  for (int i = 0; i < m->count; i++) {
    const dq_response_site *site = m->watched[i].site;
    now[now_count++] = site->input;
    before[before_count++] = site->output;
    if (!m->both) now[now_count++] = site->output;
    if (!m->both || !site->beside) continue;
    now[now_count++] = before[before_count++] = site->beside;
  }
  DQ_TRY(open_network(&runners[0], run->current, now, now_count, run, m, error));
  if (m->both) DQ_TRY(open_network(&runners[1], run->original, before, before_count, run, m, error));
  DQ_TRY(open_windows(m, runners[0].part, runners[0].session.plan, error));
  return run_pictures(m, run, runners, error);
}

dq_status dq_responses_measure(const dq_response_run *run, const dq_response_site *sites, int count,
                               const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  measurement m = {.count = count, .both = run->current != run->original, .context = context, .arena = arena};
  m.watched = arena ? DQ_NEW_ARRAY(arena, count, watched) : NULL;
  dq_status status = m.watched ? DQ_OK : dq_fail_memory(error, sizeof(watched));
  for (int i = 0; status == DQ_OK && i < count; i++) m.watched[i].site = &sites[i];
  dq_runner runners[2] = {0};
  if (status == DQ_OK) status = measure(&m, run, runners, error);
  for (int i = 0; i < 2; i++) dq_runner_close(&runners[i]);
  dq_arena_free(arena);
  return status;
}
