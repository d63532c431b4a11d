#include "lib/train/loop/batches.h"

#include <string.h>

enum { ORDER_PURPOSE = 41, PICTURE_PURPOSE = 42 }; // of dq_random_start

static int64_t classes_of(const dq_batches *batches) {
  return dq_tensor_product(batches->targets, 1, batches->targets->rank);
}

static dq_status check_labels(const dq_batches *batches, dq_error *error) {
  const dq_data *data = batches->options.data;
  const int64_t classes = classes_of(batches), labels = dq_data_classes(data);
  if (batches->options.unlabelled) return DQ_OK;
  if (dq_data_labelled(data) != DQ_LABEL_CLASS) {
    dq_fail(error, DQ_BAD_INPUT, "the pictures to train on have no class labels");
    dq_error_hint(error, "a teacher needs no labels: --teacher MODEL");
    return DQ_BAD_INPUT;
  }
  if (labels > classes || (dq_data_classes_exact(data) && labels != classes))
    return dq_fail(error, DQ_BAD_INPUT, "the data has %lld classes, the model %lld", (long long)labels,
                   (long long)classes);
  return DQ_OK;
}

static bool changes_pictures(const dq_augmentation *a) { return a->flip || a->crop || a->cutout || a->colour > 0; }

static dq_status check_sizes(dq_batches *batches, dq_error *error) {
  const int64_t pictures = dq_data_count(batches->options.data);
  if (pictures < batches->batch)
    return dq_fail(error, DQ_BAD_INPUT, "a batch has %lld pictures, and the data only %lld", (long long)batches->batch,
                   (long long)pictures);
  if (changes_pictures(&batches->options.augmentation) && !dq_picture_layout_of(batches->input, &batches->layout))
    return dq_fail(error, DQ_BAD_INPUT, "the input has %d dimensions: only pictures, which have 4, can be augmented",
                   batches->input->rank);
  return DQ_OK;
}

dq_status dq_batches_open(dq_batches *batches, const dq_batches_options *options, dq_tensor *input, dq_tensor *targets,
                          dq_arena *arena, const dq_context *context, dq_error *error) {
  *batches = (dq_batches){.options = *options,
                          .context = context,
                          .input = input,
                          .targets = targets,
                          .batch = options->part ? options->part->all : input->dims[0],
                          .first = options->part ? options->part->first : 0,
                          .count = input->dims[0],
                          .epoch = -1};
  batches->per_epoch = dq_data_count(options->data) / batches->batch;
  const int64_t threads = dq_pool_threads(context ? context->pool : NULL);
  DQ_TRY(check_sizes(batches, error));
  DQ_TRY(check_labels(batches, error));
  DQ_TRY(dq_data_set_shape(options->data, input, error));
  batches->order = DQ_NEW_ARRAY(arena, dq_data_count(options->data), int64_t);
  batches->statuses = DQ_NEW_ARRAY(arena, batches->count, dq_status);
  batches->scratch = DQ_NEW_ARRAY(arena, threads * dq_tensor_product(input, 1, input->rank), float);
  return batches->order && batches->statuses && batches->scratch ? DQ_OK : dq_fail_memory(error, 0);
}

// Other numbers for each of the three.
static dq_random random_of(const dq_batches *batches, uint64_t purpose, int64_t epoch, int64_t picture) {
  dq_random random = dq_random_start(batches->context ? batches->context->seed : 0, purpose);
  random.state = dq_random_mix(random.state + (uint64_t)epoch * 0x9e3779b97f4a7c15u);
  random.state = dq_random_mix(random.state + (uint64_t)picture * 0x9e3779b97f4a7c15u);
  return random;
}

// Every order is equally likely (R. Durstenfeld, Algorithm 235: Random permutation, Communications of the ACM, 1964).
void dq_batches_shuffle(dq_batches *batches, int64_t epoch) {
  const int64_t pictures = dq_data_count(batches->options.data);
  dq_random random = random_of(batches, ORDER_PURPOSE, epoch, 0);
  for (int64_t i = 0; i < pictures; i++) batches->order[i] = i;
  for (int64_t i = pictures - 1; i > 0; i--) {
    const int64_t other = (int64_t)dq_random_below(&random, (uint64_t)i + 1), moved = batches->order[i];
    batches->order[i] = batches->order[other];
    batches->order[other] = moved;
  }
  batches->epoch = epoch;
}

// ---- Reading ----

typedef struct read_job {
  dq_batches *batches;
  const int64_t *pictures;
} read_job;

static void write_target(const dq_batches *batches, int64_t item, int64_t label) {
  const int64_t classes = classes_of(batches);
  const double smoothing = batches->options.label_smoothing, rest = smoothing / (double)classes;
  float *target = (float *)batches->targets->data + item * classes;
  for (int64_t c = 0; c < classes; c++) target[c] = (float)(c == label ? 1 - smoothing + rest : rest);
}

static dq_status read_picture(const read_job *job, int64_t item, int thread, dq_error *error) {
  dq_batches *batches = job->batches;
  const int64_t elements = dq_tensor_product(batches->input, 1, batches->input->rank), picture = job->pictures[item];
  float *values = (float *)batches->input->data + item * elements;
  dq_sample_info info;
  DQ_TRY(dq_data_read(batches->options.data, picture, values, &info, error));
  if (changes_pictures(&batches->options.augmentation)) {
    dq_random random = random_of(batches, PICTURE_PURPOSE, batches->epoch, picture);
    dq_augment(&batches->options.augmentation, &batches->layout, &random, values, batches->scratch + thread * elements);
  }
  if (batches->options.unlabelled) return DQ_OK;
  if (info.label < 0 || info.label >= classes_of(batches))
    return dq_fail(error, DQ_BAD_INPUT, "%s: no label from 0 to %lld", info.name, (long long)classes_of(batches) - 1);
  write_target(batches, item, info.label);
  return DQ_OK;
}

static void read_item(void *argument, int64_t item, int thread) {
  const read_job *job = argument;
  job->batches->statuses[item] = read_picture(job, item, thread, NULL);
}

dq_status dq_batches_read(dq_batches *batches, int64_t index, dq_error *error) {
  const read_job job = {batches, batches->order + index * batches->batch + batches->first};
  dq_pool_run(batches->context ? batches->context->pool : NULL, batches->count, read_item, (void *)(uintptr_t)&job);
  for (int64_t i = 0; i < batches->count; i++) // again, for its message
    if (batches->statuses[i] != DQ_OK) DQ_TRY(read_picture(&job, i, 0, error));
  return DQ_OK;
}
