// Counting overflow while a model runs: the quantized inputs and outputs of its layers are looked at
// as they pass.
#include "lib/audit/audit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/audit/audit_internal.h"
#include "lib/base/sizes.h"
#include "lib/ops/common/convolution.h"
#include "lib/session/divided.h"

typedef struct layer_state {
  const dq_value *x, *y; // of the session's copy; NULL: none
  dq_audit *audit;       // made when the shape is first seen
  int64_t dims[DQ_MAX_RANK];
  int rank;
  uint8_t *transposed; // a matrix product's input as [depth][rows]
} layer_state;

// What a picture gives for a layer, as the processes of a job send it each other.
enum { INPUT, OUTPUT }; // who receives it
typedef struct input_counts {
  uint64_t outputs;         // of one channel
  dq_audit_counts counts[]; // by output channel
} input_counts;
typedef struct output_counts {
  uint64_t size;      // elements
  uint64_t clamped[]; // by output channel
} output_counts;

typedef struct audit_job {
  dq_audit_report *report;
  const dq_audit_operands *operands;
  const dq_audit_options *options;
  layer_state *states;
  dq_runner runner;
  dq_divided_loop divided;
  input_counts *input; // of one picture, with room for the widest layer
  output_counts *output;
  void *scratch;
  size_t scratch_bytes;
  dq_arena *arena;
  const dq_context *context;
} audit_job;

// ---- Adding up ----

static void add_share(dq_audit_share *share, uint64_t count, uint64_t of, int64_t pictures) {
  double percent = of ? 100.0 * (double)count / (double)of : 0;
  share->lowest = !pictures || percent < share->lowest ? percent : share->lowest;
  share->highest = !pictures || percent > share->highest ? percent : share->highest;
  share->average += percent; // divided by the pictures at the end
  share->count += count;
  share->of += of;
  share->pictures += count > 0;
}

static void add_input(dq_audit_layer *layer, const input_counts *picture, bool raw) {
  const dq_audit_counts *counts = picture->counts;
  const uint64_t outputs = picture->outputs;
  dq_audit_counts all = DQ_AUDIT_NOTHING;
  for (int64_t c = 0; c < layer->channels; c++) {
    dq_audit_channel *channel = &layer->seen[c];
    dq_audit_counts_add(&all, &counts[c]);
    dq_audit_counts_add(&channel->counts, &counts[c]);
    channel->pictures16 += counts[c].running16 > 0;
    channel->pictures32 += counts[c].running32 || counts[c].bias32;
    channel->pictures_pair += counts[c].pair > 0;
  }
  uint64_t sums = outputs * (uint64_t)layer->channels, depth = (uint64_t)layer->depth;
  const struct {
    uint64_t count, of;
  } found[] = {
      [DQ_AUDIT_PRODUCT] = {all.product, sums * depth},
      [DQ_AUDIT_PRODUCT_RAW] = {all.product_raw, raw ? sums * depth : 0},
      [DQ_AUDIT_SUM16] = {all.sum16, sums},
      [DQ_AUDIT_RUNNING16] = {all.running16, sums},
      [DQ_AUDIT_BIAS16] = {all.bias16, sums},
      [DQ_AUDIT_SUM32] = {all.sum32, sums},
      [DQ_AUDIT_RUNNING32] = {all.running32, sums},
      [DQ_AUDIT_BIAS32] = {all.bias32, sums},
      [DQ_AUDIT_PAIR] = {all.pair, sums * ((depth + 1) / 2)},
  };
  for (int m = 0; m < DQ_COUNT(found); m++) add_share(&layer->shares[m], found[m].count, found[m].of, layer->pictures);
  layer->lowest = dq_min_i64(layer->lowest, all.lowest);
  layer->highest = dq_max_i64(layer->highest, all.highest);
  layer->pictures32 += all.running32 || all.bias32;
  layer->outputs += outputs;
  layer->pictures++;
}

static void add_output(dq_audit_layer *layer, const output_counts *picture) {
  uint64_t clamped = 0;
  for (int64_t c = 0; c < layer->channels; c++) {
    layer->seen[c].clamped += picture->clamped[c];
    clamped += picture->clamped[c];
  }
  dq_audit_share *share = &layer->shares[DQ_AUDIT_CLAMPED];
  add_share(share, clamped, picture->size, share->of ? 1 : 0);
}

static dq_status add_picture(void *user, int side, int layer, const dq_tensor *counts, dq_error *error) {
  const audit_job *job = user;
  (void)error;
  if (side == INPUT) add_input(&job->report->layers[layer], counts->data, job->options->raw);
  else add_output(&job->report->layers[layer], counts->data);
  return DQ_OK;
}

// ---- One layer's input ----

static dq_status shape_of(const audit_job *job, int index, const dq_tensor *x, dq_conv_parameters *shape,
                          dq_error *error) {
  const dq_audit_operands *o = &job->operands[index];
  dq_tensor one = *x;
  *shape = o->parameters.shape;
  if (!o->convolution) {
    if (x->rank < 1 || x->dims[x->rank - 1] != shape->in_channels)
      return dq_fail(error, DQ_BAD_INPUT, "the rows of the input have another length than the %lld rows of the weight",
                     (long long)shape->in_channels);
    shape->in_width = dq_tensor_count(x) / shape->in_channels;
    if (x->rank > 1 && x->dims[0] == job->runner.batch) shape->in_width /= job->runner.batch;
    shape->out_width = shape->in_width;
    return DQ_OK;
  }
  if (one.rank > 0) one.dims[0] = 1;
  const dq_tensor *inputs[] = {&one, o->w};
  dq_op op = {.context = job->context,
              .node = job->report->layers[index].node,
              .input_count = DQ_COUNT(inputs),
              .inputs = inputs,
              .error = error};
  dq_convolution convolution;
  DQ_TRY(dq_convolution_read(&op, 0, 1, -1, &convolution));
  if (convolution.window.rank > 2)
    return dq_fail(error, DQ_UNSUPPORTED, "its input has a number of dimensions that is not audited");
  *shape = dq_convolution_parameters(&convolution);
  return DQ_OK;
}

static bool same_shape(const layer_state *state, const dq_tensor *x) {
  return state->audit && state->rank == x->rank && !memcmp(state->dims, x->dims, sizeof *x->dims * (size_t)x->rank);
}

static dq_status grow_scratch(audit_job *job, size_t bytes, dq_error *error) {
  if (bytes <= job->scratch_bytes) return DQ_OK;
  free(job->scratch);
  bytes = dq_round_up(bytes, DQ_KERNEL_ALIGNMENT);
  job->scratch = aligned_alloc(DQ_KERNEL_ALIGNMENT, bytes);
  job->scratch_bytes = job->scratch ? bytes : 0;
  return job->scratch ? DQ_OK : dq_fail_memory(error, bytes);
}

static dq_status prepare(audit_job *job, int index, const dq_tensor *x, dq_conv_int8_parameters *parameters,
                         dq_error *error) {
  layer_state *state = &job->states[index];
  const dq_audit_operands *o = &job->operands[index];
  *parameters = o->parameters;
  DQ_TRY(shape_of(job, index, x, &parameters->shape, error));
  if (same_shape(state, x)) return DQ_OK;
  state->rank = x->rank;
  memcpy(state->dims, x->dims, sizeof state->dims);
  DQ_TRY(dq_audit_new(&state->audit, parameters, o->weights, o->bias, job->options->raw, job->context->cpu, job->arena,
                      error));
  size_t bytes = dq_audit_scratch_bytes(state->audit, dq_pool_threads(job->context->pool));
  DQ_TRY(dq_check_memory(job->context, bytes, "the audit of a layer", error));
  DQ_TRY(grow_scratch(job, bytes, error));
  if (o->convolution) return DQ_OK;
  state->transposed = DQ_NEW_ARRAY(job->arena, parameters->shape.in_width * parameters->shape.in_channels, uint8_t);
  return state->transposed ? DQ_OK : dq_fail_memory(error, 0);
}

static dq_status audit_input(audit_job *job, int index, const dq_tensor *x, dq_error *error) {
  dq_audit_layer *layer = &job->report->layers[index];
  layer_state *state = &job->states[index];
  dq_conv_int8_parameters q;
  if (!dq_tensor_count(x)) return DQ_OK;
  DQ_TRY(prepare(job, index, x, &q, error));
  int64_t bytes = q.shape.in_channels * q.shape.in_height * q.shape.in_width;
  int64_t images = dq_min_i64(dq_tensor_count(x) / bytes, job->runner.count);
  for (int64_t n = 0; n < images; n++) {
    const uint8_t *image = (const uint8_t *)x->data + n * bytes;
    for (int64_t i = 0; state->transposed && i < bytes; i++)
      state->transposed[i % q.shape.in_channels * q.shape.in_width + i / q.shape.in_channels] = image[i];
    for (int64_t c = 0; c < layer->channels; c++) job->input->counts[c] = DQ_AUDIT_NOTHING;
    if (!job->options->summary || layer->worst.pair)
      dq_audit_run(state->audit, state->transposed ? state->transposed : image, job->input->counts, job->scratch,
                   job->context->pool);
    job->input->outputs = (uint64_t)(q.shape.out_height * q.shape.out_width);
    const size_t sent = sizeof *job->input + (size_t)layer->channels * sizeof *job->input->counts;
    DQ_TRY(dq_divided_give_bytes(&job->divided, INPUT, index, job->input, sent, error));
  }
  return DQ_OK;
}

// ---- One layer's output ----

// How many of the numbers are the given one. Sums of bytes, so that a compiler's vectors hold many.
static uint64_t count_equal(const uint8_t *from, int64_t count, uint8_t number) {
  enum { MOST = 255 };
  uint64_t found = 0;
  for (int64_t i = 0, end; i < count; i = end) {
    uint8_t sum = 0;
    end = dq_min_i64(count, i + MOST);
    for (int64_t j = i; j < end; j++) sum = (uint8_t)(sum + (from[j] == number));
    found += sum;
  }
  return found;
}

static dq_status audit_output(audit_job *job, int index, const dq_tensor *y, dq_error *error) {
  const dq_audit_layer *layer = &job->report->layers[index];
  const dq_audit_operands *o = &job->operands[index];
  int at = o->convolution ? 1 : y->rank - 1;
  if (job->options->summary || y->rank <= at || at < 0 || y->dims[at] != layer->channels || y->type != o->y_type ||
      !dq_tensor_count(y))
    return DQ_OK;
  int64_t inner = dq_tensor_product(y, at + 1, y->rank), count = dq_tensor_count(y);
  bool batched = y->rank > 1 && y->dims[0] == job->runner.batch;
  int64_t pictures = batched ? job->runner.count : 1, size = batched ? count / y->dims[0] : count;
  int64_t low = dq_dtype_low(y->type), high = dq_dtype_high(y->type);
  // An end that stands for 0 is where an activation cuts, not where numbers run out.
  bool count_low = o->y_zero != low, count_high = o->y_zero != high;
  uint8_t lowest = (uint8_t)low, highest = (uint8_t)high;
  for (int64_t n = 0; n < pictures; n++) {
    job->output->size = (uint64_t)size;
    memset(job->output->clamped, 0, (size_t)layer->channels * sizeof *job->output->clamped);
    for (int64_t first = 0; first < size; first += inner) {
      const uint8_t *from = (const uint8_t *)y->data + n * size + first;
      job->output->clamped[first / inner % layer->channels] +=
          (count_low ? count_equal(from, inner, lowest) : 0) + (count_high ? count_equal(from, inner, highest) : 0);
    }
    const size_t sent = sizeof *job->output + (size_t)layer->channels * sizeof *job->output->clamped;
    DQ_TRY(dq_divided_give_bytes(&job->divided, OUTPUT, index, job->output, sent, error));
  }
  return DQ_OK;
}

static dq_status look(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  audit_job *job = user;
  char label[DQ_LABEL_TEXT];
  for (int i = 0; i < job->report->layer_count; i++) {
    if (job->states[i].x == value) {
      dq_status status = audit_input(job, i, tensor, error);
      if (status != DQ_OK)
        return dq_error_prefix(error, status, "%s", dq_node_label(job->report->layers[i].node, label, sizeof label));
    }
    if (job->states[i].y == value) DQ_TRY(audit_output(job, i, tensor, error));
  }
  return DQ_OK;
}

// ---- The run ----

static dq_status open_runner(audit_job *job, const dq_graph *graph, dq_data *data, dq_error *error) {
  dq_audit_report *report = job->report;
  const char **taps = DQ_NEW_ARRAY(job->arena, 2 * report->layer_count + 1, const char *);
  job->states = DQ_NEW_ARRAY(job->arena, report->layer_count + 1, layer_state);
  if (!taps || !job->states) return dq_fail_memory(error, 0);
  int count = 0;
  int64_t widest = 1;
  for (int i = 0; i < report->layer_count; i++) {
    dq_audit_layer *layer = &report->layers[i];
    if (layer->reason) continue;
    taps[count++] = job->operands[i].x->name;
    if (job->operands[i].y) taps[count++] = job->operands[i].y->name;
    widest = dq_max_i64(widest, layer->channels);
    layer->seen = DQ_NEW_ARRAY(job->arena, layer->channels, dq_audit_channel);
    if (!layer->seen) return dq_fail_memory(error, (size_t)layer->channels * sizeof *layer->seen);
    for (int64_t c = 0; c < layer->channels; c++) layer->seen[c].counts = DQ_AUDIT_NOTHING;
    layer->lowest = INT64_MAX;
    layer->highest = INT64_MIN;
  }
  const size_t bytes = sizeof *job->input + (size_t)widest * sizeof *job->input->counts;
  job->input = dq_arena_alloc(job->arena, bytes);
  job->output = dq_arena_alloc(job->arena, sizeof *job->output + (size_t)widest * sizeof *job->output->clamped);
  if (!job->input || !job->output) return dq_fail_memory(error, bytes);
  dq_runner_options options = {.session = {.shapes = job->options->shapes, .taps = taps, .tap_count = count},
                               .batch = job->options->batch};
  DQ_TRY(dq_runner_open(&job->runner, graph, data, &options, job->context, error));
  for (int i = 0; i < report->layer_count; i++) {
    if (report->layers[i].reason) continue;
    job->states[i].x = dq_graph_find(job->runner.session.copy, job->operands[i].x->name);
    if (job->operands[i].y) job->states[i].y = dq_graph_find(job->runner.session.copy, job->operands[i].y->name);
  }
  dq_plan_set_tap(job->runner.session.plan, look, job);
  return DQ_OK;
}

static dq_status run_pictures(audit_job *job, dq_data *data, dq_error *error) {
  dq_picture_range range = {.step = 1, .count = dq_data_count(data), .doing = "overflow audit"};
  if (job->options->pictures) range.count = dq_min_i64(range.count, job->options->pictures);
  job->divided = (dq_divided_loop){.loop.first = &job->runner, .on_record = add_picture, .user = job};
  DQ_TRY(dq_divided_run(&job->divided, &range, error));
  job->report->pictures = range.count;
  return DQ_OK;
}

static void finish(dq_audit_report *report) {
  for (int i = 0; i < report->layer_count; i++)
    for (int m = 0; m < DQ_AUDIT_METRICS; m++) {
      dq_audit_layer *layer = &report->layers[i];
      if (layer->pictures) layer->shares[m].average /= (double)layer->pictures;
    }
}

dq_status dq_audit_model(dq_audit_report *report, const dq_graph *graph, dq_data *data, const dq_audit_options *options,
                         const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_audit_operands *operands;
  DQ_TRY(dq_audit_find(report, graph, &operands, arena, error));
  if (!report->audited) {
    dq_fail(error, DQ_UNSUPPORTED,
            report->layer_count ? "no layer with 8-bit operands can be audited"
                                : "the model has no Conv, Gemm or MatMul with 8-bit operands");
    dq_error_hint(error, "quantize it first: dq-int8 MODEL --data SPEC -o OUT");
    return DQ_UNSUPPORTED;
  }
  if (!data) return DQ_OK;
  audit_job job = {.report = report, .operands = operands, .options = options, .arena = arena, .context = context};
  dq_status status = dq_processes_agree(dq_processes_of(context), open_runner(&job, graph, data, error), error);
  if (status == DQ_OK) status = run_pictures(&job, data, error);
  dq_runner_close(&job.runner);
  free(job.scratch);
  finish(report);
  return status;
}

// ---- Verdicts ----

static dq_audit_verdict verdict(bool can, int64_t pictures) {
  return pictures ? DQ_AUDIT_OVERFLOWED : can ? DQ_AUDIT_DID_NOT : DQ_AUDIT_CANNOT;
}

static bool leaves_int16(const dq_audit_proof *proof) {
  return proof->lowest < INT16_MIN || proof->highest > INT16_MAX;
}

dq_audit_verdict dq_audit_verdict16(const dq_audit_layer *layer, int64_t channel, int64_t *pictures) {
  *pictures = channel < 0   ? layer->shares[DQ_AUDIT_RUNNING16].pictures
              : layer->seen ? layer->seen[channel].pictures16
                            : 0;
  return verdict(leaves_int16(channel < 0 ? &layer->worst : &layer->proofs[channel]), *pictures);
}

dq_audit_verdict dq_audit_verdict32(const dq_audit_layer *layer, int64_t channel, int64_t *pictures) {
  *pictures = channel < 0 ? layer->pictures32 : layer->seen ? layer->seen[channel].pictures32 : 0;
  return verdict(channel < 0 ? layer->can32 > 0 : dq_audit_can_leave_int32(&layer->proofs[channel]), *pictures);
}

dq_audit_verdict dq_audit_verdict_pair(const dq_audit_layer *layer, int64_t channel, int64_t *pictures) {
  *pictures = channel < 0   ? layer->shares[DQ_AUDIT_PAIR].pictures
              : layer->seen ? layer->seen[channel].pictures_pair
                            : 0;
  return verdict(channel < 0 ? layer->worst.pair : layer->proofs[channel].pair, *pictures);
}

double dq_audit_worst_share(const dq_audit_report *report) {
  const dq_audit_metric counted[] = {DQ_AUDIT_SUM16, DQ_AUDIT_PAIR};
  double worst = 0;
  for (int i = 0; i < report->layer_count; i++)
    for (int m = 0; m < DQ_COUNT(counted); m++) {
      const dq_audit_share *share = &report->layers[i].shares[counted[m]];
      double percent = share->of ? 100.0 * (double)share->count / (double)share->of : 0;
      worst = percent > worst ? percent : worst;
    }
  return worst;
}
