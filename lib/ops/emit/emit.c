// What the functions that emit C share: lines, names, constants, loops, requantization.
#include "lib/ops/emit/emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/fixed_point.h"

// ---- Lines and names ----

// The length of the head of a loop or a condition, with its closing parenthesis; 0: `line` begins with neither.
static size_t head_length(const char *line) {
  static const char *const words[] = {"for (", "if (", "while ("};
  for (int w = 0; w < DQ_COUNT(words); w++) {
    if (strncmp(line, words[w], strlen(words[w])) != 0) continue;
    const char *at = line + strlen(words[w]);
    for (int open = 1; open && *at; at++) open += (*at == '(') - (*at == ')');
    return (size_t)(at - line);
  }
  return 0;
}

void dq_emit(dq_emission *to, const char *format, ...) {
  enum { LONGEST = 400 };
  va_list arguments;
  char braced[LONGEST + 100];
  const size_t head = head_length(format);
  const bool opens = format[strlen(format) - 1] == '{', alone = head && !opens && strlen(format) < LONGEST;
  if (format[0] == '}') to->depth--;
  if (alone) // a statement behind a head gets braces of its own: rule 15.6 of MISRA C
    snprintf(braced, sizeof braced, "%.*s {\n%*s%s\n%*s}", (int)head, format, 4 + 2 * to->depth, "", format + head + 1,
             2 + 2 * to->depth, "");
  fprintf(to->body, "%*s", 2 + 2 * to->depth, "");
  va_start(arguments, format);
  vfprintf(to->body, alone ? braced : format, arguments);
  va_end(arguments);
  fputc('\n', to->body);
  if (opens) to->depth++;
}

void dq_emit_close(dq_emission *to, int count) {
  for (int i = 0; i < count; i++) dq_emit(to, "}");
}

int dq_emit_constant(dq_emission *to, int type, const void *data, int64_t count) {
  if (to->array_count == DQ_EMIT_ARRAYS) {
    to->too_many = true;
    return -1;
  }
  to->arrays[to->array_count] = (dq_emit_array){type, count, data};
  return to->array_count++;
}

const char *dq_emit_input(dq_emission *to, int i, char name[16]) {
  const dq_tensor *input = to->op->inputs[i];
  if (input->data) snprintf(name, 16, "c%d", dq_emit_constant(to, input->type, input->data, dq_tensor_count(input)));
  else snprintf(name, 16, "x%d", i);
  return name;
}

const char *dq_emit_type(int type) {
  switch (type) {
#define DQ_DTYPE(symbol, id, name, bits, c_type)                                                                       \
  case DQ_##symbol:                                                                                                    \
    return #c_type;
#include "lib/base/dtype.def"
#undef DQ_DTYPE
  default: return "void";
  }
}

const char *dq_emit_literal(float value, char text[48]) {
  if (isnan(value)) return strcpy(text, "(0.0f / 0.0f)");
  if (isinf(value)) return strcpy(text, value > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)");
  snprintf(text, 40, "%.9g", (double)value);
  if (!strpbrk(text, ".e")) strcat(text, ".0");
  return strcat(text, "f");
}

const char *dq_emit_wide_literal(double value, char text[48]) {
  if (isnan(value)) return strcpy(text, "(0.0 / 0.0)");
  if (isinf(value)) return strcpy(text, value > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)");
  snprintf(text, 40, "%.17g", value);
  return strpbrk(text, ".e") ? text : strcat(text, ".0");
}

const char *dq_emit_real(float value, char text[48]) {
  char literal[48];
  dq_emit_literal(value, literal);
  const bool exact = !isfinite(value) || strtod(literal, NULL) == (double)value;
  snprintf(text, 48, exact ? "%s" : "(float)%.40s", literal);
  return text;
}

// ---- Loops ----

dq_emit_nest dq_emit_nest_of(int rank, const int64_t *dims) {
  dq_emit_nest nest = {.rank = rank, .operands = 1};
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    nest.dims[d] = dims[d];
    nest.strides[0][d] = stride;
    stride *= dims[d];
  }
  return nest;
}

void dq_emit_broadcast(dq_emit_nest *nest, const dq_tensor *operand) {
  int64_t stride = 1;
  int missing = nest->rank - operand->rank;
  for (int d = nest->rank - 1; d >= 0; d--) {
    int64_t size = d < missing ? 1 : operand->dims[d - missing];
    nest->strides[nest->operands][d] = size == 1 ? 0 : stride;
    stride *= size;
  }
  nest->operands++;
}

static bool walks_on(const dq_emit_nest *nest, int d) {
  for (int o = 0; o < nest->operands; o++)
    if (nest->strides[o][d] != nest->strides[o][d + 1] * nest->dims[d + 1]) return false;
  return true;
}

static void remove_dimension(dq_emit_nest *nest, int d) {
  for (int i = d; i + 1 < nest->rank; i++) {
    nest->dims[i] = nest->dims[i + 1];
    for (int o = 0; o < nest->operands; o++) nest->strides[o][i] = nest->strides[o][i + 1];
  }
  nest->rank--;
}

static void join_dimensions(dq_emit_nest *nest) {
  for (int d = nest->rank - 1; d >= 0; d--) {
    if (nest->dims[d] == 1) {
      remove_dimension(nest, d);
    } else if (d + 1 < nest->rank && walks_on(nest, d)) {
      nest->dims[d + 1] *= nest->dims[d];
      remove_dimension(nest, d);
    }
  }
}

int dq_emit_loops(dq_emission *to, dq_emit_nest *nest, char index[][160]) {
  join_dimensions(nest);
  for (int o = 0; o < nest->operands; o++) {
    int at = 0;
    for (int d = 0; d < nest->rank; d++) {
      int64_t stride = nest->strides[o][d];
      if (!stride) continue;
      at += snprintf(index[o] + at, (size_t)(160 - at), stride == 1 ? "%si%d" : "%si%d * %" PRId64, at ? " + " : "", d,
                     stride);
    }
    if (!at) strcpy(index[o], "0");
  }
  for (int d = 0; d < nest->rank; d++)
    dq_emit(to, "for (int32_t i%d = 0; i%d < %" PRId64 "; i%d++) {", d, d, nest->dims[d], d);
  return nest->rank;
}

// ---- Weights of integer sums ----

static int32_t weight_at(const dq_emit_weights *w, int64_t c, int64_t k) {
  int32_t zero = w->zero_point_count ? w->zero_points[w->zero_point_count == 1 ? 0 : c] : 0;
  return (int32_t)dq_tensor_get_i64(w->weights, c * w->channel_stride + k * w->depth_stride) - zero;
}

static bool fits_int8(const dq_emit_weights *w) {
  for (int64_t c = 0; c < w->channels; c++)
    for (int64_t k = 0; k < w->depth; k++)
      if (weight_at(w, c, k) < INT8_MIN || weight_at(w, c, k) > INT8_MAX) return false;
  return true;
}

static int bits_of(int64_t least, int64_t most) {
  int bits = 1;
  while (bits < 63 && (most > (INT64_C(1) << (bits - 1)) - 1 || least < -(INT64_C(1) << (bits - 1)))) bits++;
  return bits;
}

// The extremes of the sum of one channel with its addend, whatever the data.
static void bound_channel(dq_emission *to, const dq_emit_weights *w, int64_t c, dq_emit_sums *sums) {
  const dq_requantization *r = sums->requantization;
  int64_t low = w->data_signed ? INT8_MIN : 0, high = w->data_signed ? INT8_MAX : UINT8_MAX;
  int64_t addend = r->bias ? r->bias[c] : 0, least = 0, most = 0;
  for (int64_t k = 0; k < w->depth; k++) {
    int64_t weight = weight_at(w, c, k);
    addend -= weight * w->data_zero_point;
    least += weight * (weight > 0 ? low : high);
    most += weight * (weight > 0 ? high : low);
  }
  sums->least[c] = addend + least, sums->most[c] = addend + most;
  int bits = bits_of(least < sums->least[c] ? least : sums->least[c], most > sums->most[c] ? most : sums->most[c]);
  if (bits > to->sum_bits) to->sum_bits = bits;
  sums->addends[c] = (int32_t)addend;
}

// The byte at which weight k of channel c lies in blocks of four channels.
static int64_t place_in_blocks(const dq_emit_weights *w, int64_t c, int64_t k) {
  int64_t blocks = (w->block_outputs + 3) / 4, lane = c % w->block_outputs % 4;
  int64_t block = c / w->block_outputs * blocks + c % w->block_outputs / 4;
  return (block * w->stride + k / 2 * 2) * 4 + lane / 2 * 4 + k % 2 * 2 + lane % 2;
}

// Blocks as words, of which byte 0 is the lowest.
static dq_status add_blocks(dq_emission *to, const dq_emit_weights *w, int *number) {
  int64_t words = w->channels / w->block_outputs * ((w->block_outputs + 3) / 4) * w->stride;
  uint32_t *values = DQ_NEW_ARRAY(to->arena, words, uint32_t);
  if (!values) return dq_fail_memory(to->op->error, (size_t)words * sizeof *values);
  for (int64_t c = 0; c < w->channels; c++)
    for (int64_t k = 0; k < w->depth; k++) {
      int64_t at = place_in_blocks(w, c, k);
      values[at / 4] |= (uint32_t)(weight_at(w, c, k) & 255) << 8 * (at % 4);
    }
  *number = dq_emit_constant(to, DQ_I32, values, words);
  return DQ_OK;
}

dq_status dq_emit_weights_prepare(dq_emission *to, const dq_emit_weights *w, dq_emit_sums *sums, int *number) {
  bool narrow = fits_int8(w);
  int64_t stride = w->stride ? w->stride : w->depth, count = w->channels * stride;
  void *values = dq_arena_array(to->arena, (size_t)count, narrow ? 1 : 2);
  sums->channels = w->channels;
  sums->addends = DQ_NEW_ARRAY(to->arena, w->channels + sums->spare, int32_t);
  sums->least = DQ_NEW_ARRAY(to->arena, w->channels, int64_t);
  sums->most = DQ_NEW_ARRAY(to->arena, w->channels, int64_t);
  if (!values || !sums->addends || !sums->least || !sums->most) return dq_fail_memory(to->op->error, 0);
  for (int64_t c = 0; c < w->channels; c++) bound_channel(to, w, c, sums);
  if (narrow && w->block_outputs) return add_blocks(to, w, number);
  for (int64_t c = 0; c < w->channels; c++)
    for (int64_t k = 0; k < w->depth; k++) {
      int64_t at = c * stride + k;
      if (narrow) ((int8_t *)values)[at] = (int8_t)weight_at(w, c, k);
      else ((int16_t *)values)[at] = (int16_t)weight_at(w, c, k);
    }
  *number = dq_emit_constant(to, narrow ? DQ_I8 : DQ_I16, values, count);
  return DQ_OK;
}

// ---- Requantization ----

static float multiplier_of(const dq_emit_sums *sums, int64_t c) {
  const dq_requantization *r = sums->requantization;
  return r->multipliers[r->multiplier_count == 1 ? 0 : c];
}

static dq_status add_floats(dq_emission *to, const dq_emit_sums *sums, int *first) {
  float *multipliers = DQ_NEW_ARRAY(to->arena, sums->channels, float);
  if (!multipliers) return dq_fail_memory(to->op->error, (size_t)sums->channels * sizeof *multipliers);
  for (int64_t c = 0; c < sums->channels; c++) multipliers[c] = multiplier_of(sums, c);
  *first = dq_emit_constant(to, DQ_F32, multipliers, sums->channels);
  dq_emit_constant(to, DQ_I32, sums->addends, sums->channels + sums->spare);
  return DQ_OK;
}

// The arrays of fixed-point forms: factors and shifts by channel; by exception, in the order of the channels, the
// channel, the sum and the correction. One more channel, beyond all others, ends the exceptions.
typedef struct forms {
  int32_t *factors, *sums;
  uint8_t *shifts;
  uint16_t *channels;
  int8_t *corrections;
} forms;

static bool allocate_forms(forms *f, int64_t n, int64_t exceptions, dq_arena *arena) {
  *f = (forms){DQ_NEW_ARRAY(arena, n, int32_t), DQ_NEW_ARRAY(arena, exceptions, int32_t),
               DQ_NEW_ARRAY(arena, n, uint8_t), DQ_NEW_ARRAY(arena, exceptions + 1, uint16_t),
               DQ_NEW_ARRAY(arena, exceptions, int8_t)};
  return f->factors && f->sums && f->shifts && f->channels && f->corrections;
}

enum { NO_CHANNEL = UINT16_MAX, UPPER = 33 }; // UPPER: what a shift is printed less where upper halves are enough

// The fixed-point form of every channel, of shifts up to `most_shift`. False: a channel has none.
static bool find_forms(const dq_emit_sums *sums, int most_shift, dq_fixed_point *found, int64_t *exceptions) {
  const dq_requantization *r = sums->requantization;
  *exceptions = 0;
  for (int64_t c = 0; c < sums->channels; c++) {
    const dq_float_requantization definition = {multiplier_of(sums, c), r->zero_point, r->low, r->high};
    if (!dq_fixed_point_find(&found[c], &definition, sums->least[c], sums->most[c], most_shift)) return false;
    *exceptions += found[c].exception_count;
  }
  return sums->channels < NO_CHANNEL;
}

// The same with one shift for all channels, the least that a channel has, where that takes no more bytes: less
// arithmetic, no array of shifts.
static bool find_even_forms(dq_emit_sums *sums, dq_fixed_point *found) {
  enum { EXCEPTION_BYTES = sizeof(uint16_t) + sizeof(int32_t) + sizeof(int8_t) };
  int64_t exceptions;
  int least = DQ_FIXED_MOST_SHIFT;
  if (!find_forms(sums, DQ_FIXED_MOST_SHIFT, found, &sums->exceptions)) return false;
  for (int64_t c = 0; c < sums->channels; c++) least = found[c].shift < least ? found[c].shift : least;
  if (find_forms(sums, least, found, &exceptions) &&
      (exceptions - sums->exceptions) * EXCEPTION_BYTES <= sums->channels) {
    sums->exceptions = exceptions, sums->shift = least;
    return true;
  }
  return find_forms(sums, DQ_FIXED_MOST_SHIFT, found, &sums->exceptions);
}

static void fill_forms(const dq_emit_sums *sums, const dq_fixed_point *found, forms *f) {
  int64_t at = 0;
  for (int64_t c = 0; c < sums->channels; c++) {
    f->factors[c] = found[c].multiplier;
    f->shifts[c] = (uint8_t)(found[c].shift - (sums->high ? UPPER : 0));
    for (int e = 0; e < found[c].exception_count; e++, at++) {
      f->channels[at] = (uint16_t)c;
      f->corrections[at] = found[c].corrections[e];
      f->sums[at] = found[c].exceptions[e];
    }
  }
  f->channels[at] = NO_CHANNEL;
}

dq_status dq_emit_sums_prepare(dq_emission *to, dq_emit_sums *sums) {
  int64_t n = sums->channels;
  forms f;
  if (to->sum_bits > 32)
    return dq_op_fail(to->op, DQ_UNSUPPORTED, "sums may need %d bits, and C is emitted for sums of at most 32",
                      to->sum_bits);
  if ((to->plain = sums->floats)) return add_floats(to, sums, &sums->first);
  to->channels += n;
  dq_fixed_point *found = DQ_NEW_ARRAY(to->arena, n, dq_fixed_point);
  if (!found) return dq_fail_memory(to->op->error, (size_t)n * sizeof *found);
  sums->in_float = !find_even_forms(sums, found);
  if (sums->in_float) {
    to->slow_channels += n, sums->exceptions = 0;
    dq_emit_need(to, DQ_EMIT_ROUND);
    return add_floats(to, sums, &sums->first);
  }
  if (!allocate_forms(&f, n, sums->exceptions, to->arena)) return dq_fail_memory(to->op->error, (size_t)n * 18);
  sums->high = true;
  for (int64_t c = 0; c < n; c++) sums->high &= found[c].shift > 32;
  fill_forms(sums, found, &f);
  dq_arena_release(to->arena, found);
  dq_emit_need(to, !sums->high ? DQ_EMIT_SCALE : to->target == DQ_EMIT_DSP ? DQ_EMIT_DSP_HIGH : DQ_EMIT_HIGH);
  sums->first = dq_emit_constant(to, DQ_I32, f.factors, n);
  dq_emit_constant(to, DQ_I32, sums->addends, n + sums->spare);
  if (!sums->shift) dq_emit_constant(to, DQ_U8, f.shifts, n);
  to->exceptions += sums->exceptions;
  if (!sums->exceptions) return DQ_OK;
  sums->first_exception = dq_emit_constant(to, DQ_U16, f.channels, sums->exceptions + 1);
  dq_emit_constant(to, DQ_I32, f.sums, sums->exceptions);
  dq_emit_constant(to, DQ_I8, f.corrections, sums->exceptions);
  return DQ_OK;
}

void dq_emit_first_exception(dq_emission *to, const dq_emit_sums *sums) {
  if (sums->exceptions) dq_emit(to, "int32_t exception = 0;");
}

void dq_emit_factors(dq_emission *to, const dq_emit_sums *sums, const char *channel) {
  bool by_float = sums->floats || sums->in_float;
  dq_emit(to, "const %s factor = c%d[%s];", by_float ? "float" : "int32_t", sums->first, channel);
  if (by_float) return;
  if (!sums->shift) dq_emit(to, "const int shift = c%d[%s];", sums->first + 2, channel);
}

void dq_emit_next_exception(dq_emission *to, const dq_emit_sums *sums, const char *channel) {
  if (sums->exceptions)
    dq_emit(to, "while ((int32_t)c%d[exception] < %s) exception++;", sums->first_exception, channel);
}

void dq_emit_store(dq_emission *to, const dq_emit_sums *sums, const char *target, const char *sum) {
  const dq_requantization *r = sums->requantization;
  const char *type = r->output_signed ? "int8_t" : "uint8_t";
  char shift[16] = "shift";
  if (sums->shift) snprintf(shift, sizeof shift, "%d", sums->shift - (sums->high ? UPPER : 0));
  if (sums->floats) dq_emit(to, "%s = (float)%s * factor;", target, sum);
  else if (sums->in_float)
    dq_emit(to, "%s = (%s)dq_round((float)%s * factor, %d, %d, %d);", target, type, sum, r->zero_point, r->low,
            r->high);
  else
    dq_emit(to, "%s = (%s)%s(%s, factor, %s, %d, %d, %d);", target, type, sums->high ? "dq_high" : "dq_scale", sum,
            shift, r->zero_point, r->low, r->high);
}

void dq_emit_exceptions(dq_emission *to, const dq_emit_sums *sums, const char *channel) {
  dq_emit(to, "for (int32_t e = exception; (int32_t)c%d[e] == %s; e++) {", sums->first_exception, channel);
}

void dq_emit_correct(dq_emission *to, const dq_emit_sums *sums, const char *target, const char *sum) {
  dq_emit(to, "if (%s == c%d[e]) {", sum, sums->first_exception + 1);
  dq_emit(to, "const int32_t right = (int32_t)%s + (int32_t)c%d[e];", target, sums->first_exception + 2);
  dq_emit(to, "%s = (%s)right;", target, sums->requantization->output_signed ? "int8_t" : "uint8_t");
  dq_emit(to, "}");
}

void dq_emit_result(dq_emission *to, const dq_emit_sums *sums, const char *channel, const char *target,
                    const char *sum) {
  dq_emit_store(to, sums, target, sum);
  if (!sums->exceptions) return;
  dq_emit_exceptions(to, sums, channel);
  dq_emit_correct(to, sums, target, sum);
  dq_emit_close(to, 1);
}
