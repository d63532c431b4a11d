// The choice of a head, and the outputs of one picture for it.
#include "lib/decode/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/decode/head.h"
#include "lib/decode/item.h"

static const dq_head *const heads[] = {
#define DQ_HEAD(symbol) &dq_head_##symbol,
#include "lib/decode/heads.def"
#undef DQ_HEAD
};
enum { HEADS = DQ_COUNT(heads) };

const char *dq_head_name(int index) { return index >= 0 && index < HEADS ? heads[index]->name : NULL; }
const char *dq_decoder_name(const dq_decoder *decoder) { return decoder->head->name; }

// The head whose name `decode` begins with, alone or in front of ':'. NULL: there is none.
static const dq_head *find_head(const char *decode) {
  const size_t length = strcspn(decode, ":");
  for (int i = 0; i < HEADS; i++) {
    const bool same = !strncmp(heads[i]->name, decode, length) && !heads[i]->name[length];
    if (same && (!decode[length] || heads[i]->described)) return heads[i];
  }
  return NULL;
}

bool dq_has_task(const dq_decode_options *options, const char *task) {
  return options->metadata.task && !strcmp(options->metadata.task, task);
}

static bool fits(dq_decoder *decoder, const dq_head *head, const dq_decode_options *options) {
  *decoder = (dq_decoder){.head = head, .input_height = options->input_height, .input_width = options->input_width};
  return head->fits ? head->fits(decoder, options) : head->described(options);
}

// Lists the names of the heads that fit the outputs, or of all; returns their number.
static int list_heads(char *text, size_t size, const dq_decode_options *options) {
  int count = 0;
  size_t at = 0;
  text[0] = 0;
  for (int i = 0; i < HEADS && at < size; i++) {
    dq_decode_options own = options ? *options : (dq_decode_options){0};
    own.decode = heads[i]->name;
    dq_decoder decoder;
    if (options && (!heads[i]->fits || !fits(&decoder, heads[i], &own))) continue;
    at += (size_t)snprintf(text + at, size - at, "%s%s", count ? ", " : "", heads[i]->name);
    count++;
  }
  return count;
}

dq_status dq_decoder_check(const char *decode, dq_error *error) {
  char names[512];
  if (!decode || find_head(decode)) return DQ_OK;
  list_heads(names, sizeof names, NULL);
  return dq_fail(error, DQ_USAGE, "unknown decoder '%s', expected one of %s, or yolo:...", decode, names);
}

bool dq_decoder_possible(const dq_decode_options *options) {
  dq_decoder decoder;
  if (options->decode) return true;
  for (int i = 0; i < HEADS; i++)
    if (fits(&decoder, heads[i], options)) return true;
  return false;
}

static dq_status fail_form(const dq_head *head, const dq_decode_options *options, dq_error *error) {
  char shapes[512] = "", names[512], text[DQ_SHAPE_TEXT];
  size_t at = 0;
  for (int i = 0; i < options->output_count && at < sizeof shapes; i++)
    at += (size_t)snprintf(shapes + at, sizeof shapes - at, "%s%s", i ? ", " : "",
                           dq_tensor_shape_text(&options->outputs[i], text, sizeof text));
  dq_fail(error, DQ_BAD_INPUT, "%s: the outputs are %s, expected %s (input of %" PRId64 " x %" PRId64 " pixels)",
          head->name, shapes, head->expected, options->input_width, options->input_height);
  if (list_heads(names, sizeof names, options)) dq_error_hint(error, "these decoders fit: %s", names);
  else dq_error_hint(error, "no decoder fits outputs of these shapes");
  return DQ_BAD_INPUT;
}

// Elements of each output in a picture, and the bound on those of a decoder's arrays.
static dq_status measure(dq_decoder *decoder, const dq_decode_options *options, dq_error *error) {
  size_t scores, bytes;
  const size_t classes = decoder->listed ? 1 : (size_t)decoder->classes;
  for (int role = 0; role < decoder->roles && !decoder->variable; role++) {
    const dq_tensor *output = &options->outputs[decoder->output[role]];
    decoder->elements[role] = decoder->pooled ? dq_tensor_count(output) : dq_item_count(output);
  }
  if (!dq_mul_size((size_t)decoder->candidates, classes + (size_t)decoder->extras, &scores) ||
      !dq_mul_size(scores, sizeof(double), &bytes))
    return dq_fail(error, DQ_BAD_INPUT, "detect: the outputs are too large");
  return DQ_OK;
}

static dq_status open_head(dq_decoder *decoder, const dq_head *head, const dq_decode_options *options,
                           dq_error *error) {
  if (!fits(decoder, head, options) && head->fits) return fail_form(head, options, error);
  if (head->open) DQ_TRY(head->open(decoder, options, error));
  return measure(decoder, options, error);
}

dq_status dq_decoder_init(dq_decoder *decoder, const dq_decode_options *options, dq_error *error) {
  *decoder = (dq_decoder){0};
  if (options->input_height < 1 || options->input_width < 1)
    return dq_fail(error, DQ_BAD_INPUT, "detect: the model's input has no height and width");
  DQ_TRY(dq_decoder_check(options->decode, error));
  if (options->decode) return open_head(decoder, find_head(options->decode), options, error);
  for (int i = 0; i < HEADS; i++)
    if (fits(decoder, heads[i], options)) return open_head(decoder, heads[i], options, error);
  char names[512];
  list_heads(names, sizeof names, NULL);
  return dq_fail(error, DQ_USAGE,
                 "detect: the model does not say how its outputs hold boxes; give --decode yolo:... "
                 "or one of %s",
                 names);
}

void dq_decoder_deinit(dq_decoder *decoder) {
  free(decoder->anchors);
  memset(decoder, 0, sizeof *decoder);
}

// The rows of one picture; of a decoder that is not variable all it has.
static dq_status find_rows(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_rows *rows,
                           dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  *rows = (dq_rows){.count = decoder->candidates};
  if (!decoder->variable) return DQ_OK;
  *rows = (dq_rows){0};
  if (decoder->head->rows(decoder, outputs, item, rows)) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "%s: picture %" PRId64 " of an output %s, expected %s", decoder->head->name, item,
                 dq_tensor_shape_text(outputs[decoder->output[0]], text, sizeof text), decoder->head->expected);
}

dq_status dq_decoder_count(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, int64_t *count,
                           dq_error *error) {
  dq_rows rows;
  DQ_TRY(find_rows(decoder, outputs, item, &rows, error));
  *count = rows.count;
  return DQ_OK;
}

// Gives a pooled output a dimension of pictures.
static dq_tensor with_pictures(const dq_decoder *decoder, const dq_tensor *output) {
  dq_tensor whole = *output;
  if (!decoder->pooled || output->rank < 0 || output->rank == DQ_MAX_RANK) return whole;
  whole.rank = output->rank + 1;
  whole.dims[0] = 1;
  memcpy(whole.dims + 1, output->dims, (size_t)output->rank * sizeof *output->dims);
  return whole;
}

// Reads what one role has of a picture; the caller frees *values with free().
static dq_status read_role(const dq_decoder *decoder, int role, const dq_tensor *output, int64_t item,
                           const dq_rows *rows, double **values, dq_error *error) {
  const dq_tensor whole = with_pictures(decoder, output);
  if (!decoder->variable) return dq_item_values(values, &whole, item, decoder->elements[role], error);
  const int64_t own = dq_item_count(&whole), fields = decoder->elements[role];
  const int64_t picture = decoder->pooled ? 0 : item; // rows of a pooled output are the head's to divide
  char text[DQ_SHAPE_TEXT];
  if (whole.rank < 1 || !whole.data || picture >= whole.dims[0] || rows->first + rows->count > own / fields)
    return dq_fail(error, DQ_BAD_INPUT,
                   "picture %" PRId64 " of an output %s, expected %" PRId64 " rows of %" PRId64 " numbers", item,
                   dq_tensor_shape_text(output, text, sizeof text), rows->count, fields);
  const int64_t at = picture * own + rows->first * fields;
  const dq_tensor part = {.type = whole.type,
                          .rank = 2,
                          .dims = {1, rows->count * fields},
                          .data = (char *)whole.data + (size_t)at * dq_dtype_size(whole.type)};
  return dq_item_values(values, &part, 0, rows->count * fields, error);
}

dq_status dq_decode(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item,
                    const dq_candidates *candidates, dq_error *error) {
  double *values[DQ_MOST_ROLES] = {0};
  dq_rows rows;
  DQ_TRY(find_rows(decoder, outputs, item, &rows, error));
  if (!rows.count) return DQ_OK;
  dq_decoder own = *decoder;
  own.candidates = rows.count;
  dq_status status = DQ_OK;
  for (int role = 0; role < decoder->roles && status == DQ_OK; role++)
    status = read_role(decoder, role, outputs[decoder->output[role]], item, &rows, &values[role], error);
  if (status == DQ_OK) decoder->head->decode(&own, (const double *const *)values, candidates);
  for (int role = 0; role < decoder->roles; role++) free(values[role]);
  return status;
}
