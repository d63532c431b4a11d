// The samples of one specification of data: choosing the reader, which samples are offered, leaving out what cannot be
// read.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "datasets/files.h"
#include "datasets/reader.h"
#include "lib/base/file.h"
#include "lib/base/random.h"

typedef struct kind {
  const char *prefix;
  bool verify;
  const dq_reader_functions *functions;
} kind;

static const kind kinds[] = {
#define DQ_READER(symbol, prefix, verify) {prefix, verify, &dq_reader_##symbol},
#include "datasets/readers.def"
#undef DQ_READER
};
enum { KINDS = DQ_COUNT(kinds) };

static const kind *kind_of(const dq_reader_functions *functions) {
  const kind *k = kinds;
  while (k->functions != functions) k++;
  return k;
}

static bool begins(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

// The row whose prefix the spec begins with, else folder or list; `argument` is what follows.
static dq_status find_kind(const char *spec, const kind **found, const char **argument, dq_error *error) {
  *argument = spec;
  for (const kind *k = kinds; k < kinds + KINDS; k++)
    if (strchr(k->prefix, ':') && begins(spec, k->prefix)) {
      *found = k;
      *argument = spec + strlen(k->prefix);
      return DQ_OK;
    }
  if (begins(spec, "pb:")) return dq_fail(error, DQ_UNSUPPORTED, "'%s': ONNX test tensors cannot be read here", spec);
  *found = kind_of(dq_is_folder(spec) ? &dq_reader_folder : &dq_reader_list);
  return DQ_OK;
}

// Parts of a source that is open and holds `count` inputs.
static dq_status make_parts(dq_data *data, int count, dq_error *error) {
  data->parts = DQ_NEW_ARRAY(data->arena, count, dq_data *);
  if (!data->parts) return dq_fail_memory(error, 0);
  for (int i = 0; i < count; i++) {
    DQ_TRY(dq_data_new(&data->parts[i], data->context, error));
    data->part_count++;
    dq_data *part = data->parts[i];
    part->source = data->source, part->state = data->state, part->borrowed = true;
    part->input = i, part->found = data->found;
    part->preprocess_text = data->preprocess_text;
  }
  return DQ_OK;
}

static dq_status open_source(dq_data *data, const dq_data_source *source, const char *argument, dq_error *error) {
  int inputs = 1;
  data->source = source;
  DQ_TRY(source->open(&data->state, argument, &data->found, &inputs, data->context, error));
  if (inputs == 1) return DQ_OK;
  if (data->name)
    return dq_fail(error, DQ_USAGE, "%s%s holds %d inputs, expected one for '%s'; leave '%s=' out", source->prefix,
                   argument, inputs, data->name, data->name);
  return make_parts(data, inputs, error);
}

bool dq_has_kind(const char *text, const dq_data_options *options) {
  for (int i = 0; i < options->source_count; i++)
    if (begins(text, options->sources[i].prefix)) return true;
  for (const kind *k = kinds; k < kinds + KINDS; k++)
    if (strchr(k->prefix, ':') && begins(text, k->prefix)) return true;
  return false;
}

static dq_status open_reader(dq_data *data, const dq_data_options *options, dq_error *error) {
  const kind *found;
  const char *argument;
  if (options->arrays) return dq_data_open_array(data, options, error);
  for (int i = 0; i < options->source_count; i++)
    if (begins(options->spec, options->sources[i].prefix))
      return open_source(data, &options->sources[i], options->spec + strlen(options->sources[i].prefix), error);
  DQ_TRY(find_kind(options->spec, &found, &argument, error));
  data->reader = found->functions;
  return data->reader->open(data, argument, options, error);
}

// Stores `count` of `found` indices in ascending order, every choice of them as likely as any other (selection
// sampling, Fan, Muller and Rezucha 1962).
static void sample(int64_t *order, int64_t count, int64_t found, uint64_t seed) {
  enum { PURPOSE = 7 };
  dq_random random = dq_random_start(seed, PURPOSE);
  int64_t taken = 0;
  for (int64_t i = 0; taken < count; i++)
    if ((int64_t)dq_random_below(&random, (uint64_t)(found - i)) < count - taken) order[taken++] = i;
}

// Chooses at most `limit` pictures: the first ones, or evenly spread ones where they are sorted by class (`spread`), or
// at random.
static dq_status choose(dq_data *data, const dq_data_options *options, bool spread, dq_error *error) {
  int64_t limit = options->limit;
  data->count = data->found;
  if (limit > data->found && !data->beside && !options->fewer)
    dq_message(data->context, DQ_WARNING, "%s: %" PRId64 " pictures, fewer than the limit of %" PRId64, options->spec,
               data->found, limit);
  bool all = limit == 0 || limit >= data->found;
  bool files = data->reader && kind_of(data->reader)->verify;
  if (!all) data->count = limit;
  const bool random = options->random && !all;
  if (!files && !random && (all || !spread)) return DQ_OK;
  data->order = DQ_NEW_ARRAY(data->arena, data->count, int64_t);
  if (!data->order) return dq_fail_memory(error, (size_t)data->count * sizeof(int64_t));
  if (random) sample(data->order, data->count, data->found, options->seed);
  for (int64_t i = 0; !random && i < data->count; i++)
    data->order[i] = all || !spread ? i : (int64_t)((__int128)i * data->found / data->count);
  return DQ_OK;
}

typedef struct check {
  const dq_data *data;
  int64_t first;
  int *widths, *heights; // 0: cannot be read
  uint8_t *channels;
  uint64_t *hashes; // of the pixels
} check;

// FNV-1a: only to notice that all pictures are the same one.
static uint64_t hash_pixels(const dq_image *image) {
  uint64_t hash = 0xcbf29ce484222325u;
  size_t count = (size_t)image->width * (size_t)image->height * (size_t)image->channels;
  for (size_t i = 0; i < count; i++) hash = (hash ^ image->pixels[i]) * 0x100000001b3u;
  return hash;
}

static dq_status look_at(check *c, int64_t i, dq_error *error) {
  dq_image image = {0};
  dq_status status = c->data->reader->pixels(c->data, c->data->order[i], &image, error);
  if (status == DQ_OK) {
    c->widths[i] = image.width;
    c->heights[i] = image.height;
    c->channels[i] = (uint8_t)image.channels;
    c->hashes[i] = hash_pixels(&image);
  }
  dq_image_deinit(&image);
  return status;
}

static void check_picture(void *argument, int64_t i, int thread) {
  check *c = argument;
  (void)thread;
  (void)look_at(c, c->first + i, NULL);
}

enum { NAMED_PICTURES = 20 }; // warnings about broken pictures before only their number is told

// Picture i once more, alone: memory may have been short beside the others. Else why it cannot be read.
static dq_status try_again(check *c, dq_data *data, int64_t i, bool strict, dq_error *error) {
  dq_error reason = {0};
  dq_status status = look_at(c, i, &reason);
  if (status == DQ_OK) return status;
  if (strict || status != DQ_BAD_INPUT) return dq_fail(error, status, "%s", reason.message);
  if (data->skipped++ < NAMED_PICTURES) dq_message(data->context, DQ_WARNING, "skipped: %s", reason.message);
  return DQ_OK;
}

static dq_status drop_broken(dq_data *data, check *c, bool strict, dq_error *error) {
  int64_t kept = 0, total = data->count, first = -1, width = 0, height = 0;
  bool same = true, equal = true;
  for (int64_t i = 0; i < total; i++) {
    if (c->widths[i] == 0) DQ_TRY(try_again(c, data, i, strict, error));
    if (c->widths[i] == 0) continue;
    if (first < 0) first = i;
    same &= c->widths[i] == c->widths[first] && c->heights[i] == c->heights[first];
    equal &= c->hashes[i] == c->hashes[first];
    width += c->widths[i], height += c->heights[i];
    data->order[kept++] = data->order[i];
  }
  data->count = kept;
  data->mean_width = kept ? (double)width / (double)kept : 0;
  data->mean_height = kept ? (double)height / (double)kept : 0;
  if (kept > 1 && equal) dq_message(data->context, DQ_WARNING, "all pictures are equal");
  if (kept && same) {
    data->fixed_width = c->widths[first];
    data->fixed_height = c->heights[first];
    data->fixed_channels = c->channels[first];
  }
  if (data->skipped)
    dq_message(data->context, DQ_WARNING, "%" PRId64 " of %" PRId64 " pictures skipped", data->skipped, total);
  return DQ_OK;
}

// Decodes every picture once so that the count is right from the start.
static dq_status verify(dq_data *data, bool strict, dq_error *error) {
  enum { BLOCK = 64 };
  size_t count = (size_t)data->count;
  check c = {.data = data,
             .widths = calloc(count, sizeof(int)),
             .heights = calloc(count, sizeof(int)),
             .channels = calloc(count, 1),
             .hashes = calloc(count, sizeof(uint64_t))};
  dq_status status = DQ_OK;
  if (!c.widths || !c.heights || !c.channels || !c.hashes) status = dq_fail_memory(error, count);
  for (; c.first < data->count && status == DQ_OK; c.first += BLOCK) {
    int64_t left = data->count - c.first;
    dq_pool_run(data->context ? data->context->pool : NULL, left < BLOCK ? left : BLOCK, check_picture, &c);
    dq_progress(data->context, "checking pictures", left < BLOCK ? data->count : c.first + BLOCK, data->count);
    status = dq_check_stop(data->context, error);
  }
  if (status == DQ_OK) status = drop_broken(data, &c, strict, error);
  free(c.widths);
  free(c.heights);
  free(c.channels);
  free(c.hashes);
  return status;
}

// norm.csv in the spec's folder, or one above the pictures.
static const char *norm_beside(dq_data *data, const char *spec) {
  char folder[4096];
  dq_path_folder(spec, folder, sizeof folder);
  const char *inside = dq_join(data->arena, spec, "norm.csv");
  const char *above = dq_join(data->arena, folder, "norm.csv");
  if (inside && dq_is_file(inside)) return inside;
  return above && dq_is_file(above) ? above : NULL;
}

static dq_status open_preprocess(dq_data *data, const dq_data_options *options, dq_error *error) {
  const char *norm;
  DQ_TRY(dq_preprocess_parse(&data->preprocess, options->preset, options->preprocess, &norm, data->arena, error));
  data->preprocess_text = dq_preprocess_join(options->preset, options->preprocess, data->arena);
  if (!data->preprocess_text) return dq_fail_memory(error, 0);
  if (!data->preprocess.per_patient) return DQ_OK;
  if (options->norm) norm = options->norm;
  if (!norm) norm = norm_beside(data, options->spec);
  if (!norm)
    return dq_fail(error, DQ_USAGE,
                   "the preprocessing needs constants for each patient; give them by --norm FILE or norm=FILE");
  return dq_norm_read(&data->norm, norm, data->arena, error);
}

// Files come in all sizes and colours: without any preprocessing given there is nothing to rely on.
static dq_status check_preset(const dq_data *data, const dq_data_options *options, dq_error *error) {
  if (!data->reader || *data->preprocess_text || !kind_of(data->reader)->verify) return DQ_OK;
  dq_fail(error, DQ_USAGE, "%s: the preprocessing of these pictures is not known, expected a preset", options->spec);
  dq_error_hint(error, "for example --preset imagenet, or --preprocess fit=stretch,scale=0.00392157");
  return DQ_USAGE;
}

// A patient without constants is found before the first picture is read.
static dq_status check_patients(const dq_data *data, dq_error *error) {
  dq_sample_info info;
  const dq_norm_row *row;
  for (int64_t i = 0; data->reader && data->preprocess.per_patient && i < data->count; i++) {
    DQ_TRY(dq_data_read(data, i, NULL, &info, error));
    DQ_TRY(dq_norm_find(&data->norm, info.name, &row, error));
  }
  return DQ_OK;
}

dq_status dq_data_find(dq_data *data, const dq_data_options *options, dq_error *error) {
  if (!options->spec || !*options->spec) return dq_fail(error, DQ_USAGE, "no data given");
  if (options->limit < 0) return dq_fail(error, DQ_USAGE, "limit is %" PRId64 ", expected 0 or more", options->limit);
  DQ_TRY(open_preprocess(data, options, error));
  DQ_TRY(open_reader(data, options, error));
  DQ_TRY(check_preset(data, options, error));
  return data->found ? DQ_OK : dq_fail(error, DQ_BAD_INPUT, "%s: no pictures", options->spec);
}

dq_status dq_data_choose(dq_data *data, const dq_data_options *options, bool spread, dq_error *error) {
  DQ_TRY(choose(data, options, spread, error));
  const bool files = data->reader && kind_of(data->reader)->verify;
  if (files && !options->unverified) DQ_TRY(verify(data, options->strict, error));
  if (data->count == 0) return dq_fail(error, DQ_BAD_INPUT, "%s: no pictures that can be read", options->spec);
  if (data->count == 1 && options->limit != 1 && !data->beside) // else it is what was asked for
    dq_message(data->context, DQ_WARNING, "%s: a single picture", options->spec);
  return check_patients(data, error);
}

dq_status dq_data_new(dq_data **data, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  *data = arena ? DQ_NEW(arena, dq_data) : NULL;
  if (!*data) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof **data);
  }
  (*data)->arena = arena;
  (*data)->context = context;
  return DQ_OK;
}
