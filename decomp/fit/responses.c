#include "decomp/fit/responses.h"

#include <string.h>

#include "lib/base/random.h"
#include "lib/base/sizes.h"
#include "lib/kernels/conv/conv.h"
#include "lib/ops/common/window.h"
#include "lib/session/batch.h"

// A site while pictures run: the positions looked at and their vectors, of every picture of a run.
typedef struct watched {
  const dq_response_site *site;
  dq_window window;
  int64_t rows, *positions; // batch x rows
  float *vectors;           // batch x rows x group x size
} watched;

// A network that runs.
typedef struct network {
  dq_runner runner;
  const dq_tensor *alone; // by value index of its part: as one picture gives it
} network;

typedef struct measurement {
  watched *watched;
  int count;
  network networks[2]; // the current one, the original
  bool now;            // the tap that runs is of the current network (or of the only one)
  bool both;
  dq_moments_work work;
  int64_t batch, first, pictures; // of a run: the most pictures, the first one, how many
  int64_t all;                    // pictures
  const dq_context *context;
  dq_arena *arena;
} measurement;

int dq_response_half(int64_t picture) {
  dq_random random = dq_random_start(0, (uint64_t)(picture / 2));
  return (int)((uint64_t)picture & 1) ^ (int)(dq_random_next(&random) >> 63);
}

static int64_t output_positions(const dq_window *w) { return w->output[0] * w->output[1]; }

// Which positions of the output are looked at in this picture: all, or evenly spread ones.
static void choose_positions(const watched *w, int64_t *positions, int64_t picture, uint64_t seed) {
  int64_t all = output_positions(&w->window);
  dq_random random = dq_random_start(seed, (uint64_t)picture);
  int64_t step = dq_max_i64(1, all / w->rows);
  int64_t start = all > w->rows ? (int64_t)dq_random_below(&random, (uint64_t)step) : 0;
  for (int64_t r = 0; r < w->rows; r++) positions[r] = start + r * all / w->rows;
}

// Positions of a matrix product: all of its rows, one below the other.
static dq_window rows_window(int64_t rows) {
  return (dq_window){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .input = {rows, 1}, .output = {rows, 1}};
}

// Elements of the vectors of one picture.
static int64_t vector_count(const watched *w) { return w->rows * w->site->halves->group * w->site->halves->size; }

static dq_status open_window(watched *w, const dq_tensor *input, const measurement *m, dq_error *error) {
  const dq_moments *moments = w->site->halves;
  dq_op op = {.context = m->context, .node = w->site->node, .error = error};
  if (input->rank < 1 || (!w->site->matrix && input->rank != 4))
    return dq_fail(error, DQ_UNSUPPORTED, "'%s' has no 4 known dimensions", w->site->input);
  if (w->site->matrix) w->window = rows_window(dq_tensor_count(input) / moments->in);
  else DQ_TRY(dq_window_read(&op, input, moments->kernel, &w->window));
  w->rows = dq_min_i64(output_positions(&w->window), DQ_RESPONSE_POSITIONS);
  int64_t count = m->batch * vector_count(w);
  w->positions = DQ_NEW_ARRAY(m->arena, m->batch * w->rows, int64_t);
  w->vectors = DQ_NEW_ARRAY(m->arena, count, float);
  return w->positions && w->vectors ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof(float));
}

// The channels of one input position into the vectors' patches; zeros beyond the border.
static void gather_tap(const watched *w, const float *values, int64_t y, int64_t x, int64_t tap, float *vector) {
  const dq_moments *m = w->site->halves;
  int64_t height = w->window.input[0], width = w->window.input[1];
  bool inside = y >= 0 && y < height && x >= 0 && x < width;
  int64_t place = y * width + x, stride = w->site->matrix ? 1 : height * width;
  const float *from = inside ? values + (w->site->matrix ? place * m->in : place) : NULL;
  for (int64_t g = 0; g < m->group; g++)
    for (int64_t i = 0; i < m->in; i++)
      vector[g * m->size + tap * m->in + i] = inside ? from[(g * m->in + i) * stride] : 0;
}

static void gather_patches(const watched *w, const dq_tensor *input, int64_t picture) {
  const dq_window *win = &w->window;
  const dq_moments *m = w->site->halves;
  const int64_t *positions = w->positions + picture * w->rows;
  for (int64_t r = 0; r < w->rows; r++) {
    float *vector = w->vectors + picture * vector_count(w) + r * m->group * m->size;
    int64_t top = positions[r] / win->output[1] * win->stride[0] - win->begin[0];
    int64_t left = positions[r] % win->output[1] * win->stride[1] - win->begin[1];
    for (int64_t t = 0; t < m->taps; t++)
      gather_tap(w, input->data, top + t / win->kernel[1] * win->dilation[0],
                 left + t % win->kernel[1] * win->dilation[1], t, vector);
    for (int64_t g = 0; g < m->group; g++) vector[(g + 1) * m->size - 1] = 1;
  }
}

static dq_status gather_answers(const watched *w, const dq_tensor *answers, int64_t picture, float sign,
                                dq_error *error) {
  const dq_moments *m = w->site->halves;
  int64_t positions = output_positions(&w->window), first = dq_moments_patch(m);
  int64_t channels = m->group * m->out, stride = w->site->matrix ? 1 : positions;
  int64_t step = w->site->matrix ? channels : 1;
  if (answers->rank < (w->site->matrix ? 1 : 2) || dq_tensor_count(answers) != channels * positions ||
      answers->dims[w->site->matrix ? answers->rank - 1 : 1] != channels)
    return dq_fail(error, DQ_UNSUPPORTED, "'%s': the response has another shape than the layer", w->site->output);
  const float *values = answers->data;
  const int64_t *at = w->positions + picture * w->rows;
  float *vectors = w->vectors + picture * vector_count(w);
  for (int64_t r = 0; r < w->rows; r++)
    for (int64_t o = 0; o < m->group * m->out; o++)
      vectors[(r * m->group + o / m->out) * m->size + first + o % m->out] += sign * values[o * stride + at[r] * step];
  return DQ_OK;
}

// What one picture of the run gives for a value that a tap delivers.
static dq_status add_picture(const measurement *m, const char *name, const dq_tensor *tensor, int64_t picture,
                             dq_error *error) {
  for (int i = 0; i < m->count; i++) {
    const watched *w = &m->watched[i];
    const dq_response_site *site = w->site;
    if (m->now && !strcmp(name, site->input)) gather_patches(w, tensor, picture);
    bool original = !m->now || !m->both;
    if (original && !strcmp(name, site->output)) DQ_TRY(gather_answers(w, tensor, picture, 1, error));
    if (m->both && site->beside && !strcmp(name, site->beside))
      DQ_TRY(gather_answers(w, tensor, picture, m->now ? -1 : 1, error));
  }
  return DQ_OK;
}

static dq_status tap(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  const measurement *m = user;
  const network *from = &m->networks[!m->now];
  const dq_value *known = m->batch > 1 ? dq_graph_find(from->runner.part, value->name) : NULL;
  if (m->batch > 1 && !known) return DQ_OK; // of no site
  for (int64_t p = 0; p < m->pictures; p++) {
    dq_tensor one;
    DQ_TRY(dq_batch_part(&one, tensor, known ? &from->alone[known->index] : NULL, m->batch, p, value->name, error));
    DQ_TRY(add_picture(m, value->name, &one, p, error));
  }
  return DQ_OK;
}

// A model that fixes its batch sees one picture in all places of it, of which the first is looked at.
static dq_status open_network(network *net, const dq_graph *graph, const char *const *names, int count,
                              const dq_response_run *run, measurement *m, dq_error *error) {
  static const dq_conv_setting fastest = {NULL, DQ_CONV_AUTO};
  dq_runner_options options = {
      .session = {.taps = names, .tap_count = count, .convolutions = &fastest, .convolution_count = 1},
      .batch = run->batch,
      .ends = names,
      .end_count = count};
  dq_runner *runner = &net->runner;
  if (run->shapes) options.session.shapes = *run->shapes;
  DQ_TRY(dq_runner_open(runner, graph, run->data, &options, m->context, error));
  dq_plan_set_tap(runner->session.plan, tap, m);
  return DQ_OK;
}

// The shapes that a network has with its inputs, of which each run has one picture where it takes several together.
static dq_status infer_alone(network *net, const measurement *m, dq_error *error) {
  dq_plan *plan = net->runner.session.plan;
  int count = dq_plan_input_count(plan);
  dq_input_shape *shapes = DQ_NEW_ARRAY(m->arena, count, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, (size_t)count * sizeof *shapes);
  for (int i = 0; i < count; i++) {
    const dq_tensor *input = dq_plan_input(plan, i);
    shapes[i] = (dq_input_shape){.name = dq_plan_input_name(plan, i), .rank = input->rank};
    memcpy(shapes[i].dims, input->dims, sizeof shapes[i].dims);
    if (m->batch > 1) shapes[i].dims[0] = 1;
  }
  dq_shape_request request = {.inputs = shapes, .input_count = count};
  dq_tensor *tensors;
  DQ_TRY(dq_infer(net->runner.part, &request, DQ_INFER_TOLERANT, m->context, m->arena, &tensors, error));
  net->alone = tensors;
  return DQ_OK;
}

// The windows of all sites.
static dq_status open_windows(measurement *m, dq_error *error) {
  const network *current = &m->networks[0];
  for (int i = 0; i < m->count; i++) {
    const dq_value *value = dq_graph_find(current->runner.part, m->watched[i].site->input);
    DQ_TRY(open_window(&m->watched[i], &current->alone[value->index], m, error));
  }
  return DQ_OK;
}

// Prepares a run: chooses the positions in its pictures, and zeroes the responses, which the taps then add to.
static void start_run(const measurement *m) {
  for (int i = 0; i < m->count; i++) {
    const watched *w = &m->watched[i];
    const dq_moments *moments = w->site->halves;
    for (int64_t v = 0; v < m->pictures * w->rows * moments->group; v++)
      memset(w->vectors + v * moments->size + dq_moments_patch(moments), 0, (size_t)moments->out * sizeof(float));
    for (int64_t p = 0; p < m->pictures; p++)
      choose_positions(w, w->positions + p * w->rows, m->first + p, m->context->seed);
  }
}

// Each half of the pictures to its moments.
static void add_pictures(const measurement *m) {
  for (int64_t p = 0; p < m->pictures; p++)
    for (int i = 0; i < m->count; i++) {
      const watched *w = &m->watched[i];
      dq_moments *halves = w->site->halves;
      float *vectors = w->vectors + p * vector_count(w);
      const int64_t first = m->all > 1 ? w->rows : (w->rows + 1) / 2;
      dq_moments_add(&halves[m->all > 1 && dq_response_half(m->first + p)], first, vectors, &m->work);
      vectors += first * halves->group * halves->size;
      dq_moments_add(&halves[1], w->rows - first, vectors, &m->work);
    }
}

static dq_status run_both(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  measurement *m = user;
  (void)infos;
  m->first = first, m->pictures = count;
  start_run(m);
  m->now = true;
  DQ_TRY(dq_runner_run(&m->networks[0].runner, error));
  m->now = false;
  if (m->both) DQ_TRY(dq_runner_run(&m->networks[1].runner, error));
  add_pictures(m);
  return DQ_OK;
}

static dq_status run_pictures(measurement *m, const dq_response_run *run, dq_error *error) {
  const dq_picture_range range = {0, 1, run->pictures, .one_by_one = m->batch == 1, .doing = run->doing};
  dq_picture_loop loop = {.first = &m->networks[0].runner, .run = run_both, .user = m};
  if (m->both) loop.second = &m->networks[1].runner;
  return dq_picture_loop_run(&loop, &range, error);
}

static dq_status measure(measurement *m, const dq_response_run *run, dq_error *error) {
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
  DQ_TRY(open_network(&m->networks[0], run->current, now, now_count, run, m, error));
  if (m->both) DQ_TRY(open_network(&m->networks[1], run->original, before, before_count, run, m, error));
  m->batch = m->networks[0].runner.batch == run->batch ? run->batch : 1;
  for (int i = 0; i <= m->both; i++) DQ_TRY(infer_alone(&m->networks[i], m, error));
  DQ_TRY(open_windows(m, error));
  DQ_TRY(dq_moments_open_work(&m->work, m->context, m->arena, error));
  return run_pictures(m, run, error);
}

dq_status dq_responses_measure(const dq_response_run *run, const dq_response_site *sites, int count,
                               const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  measurement m = {
      .count = count, .both = run->current != run->original, .all = run->pictures, .context = context, .arena = arena};
  m.watched = arena ? DQ_NEW_ARRAY(arena, count, watched) : NULL;
  dq_status status = m.watched ? DQ_OK : dq_fail_memory(error, sizeof(watched));
  for (int i = 0; status == DQ_OK && i < count; i++) m.watched[i].site = &sites[i];
  if (status == DQ_OK) status = measure(&m, run, error);
  for (int i = 0; i < 2; i++) dq_runner_close(&m.networks[i].runner);
  dq_arena_free(arena);
  return status;
}
