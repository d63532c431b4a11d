// Kernels over arrays against scalar forms written out here or in lib/base/half.h.
#include "tests/check/check.h"

#include "lib/kernels/reference/function.h"

#include "lib/base/half.h"
#include "lib/base/sizes.h"

#include <math.h>
#include <string.h>

// The word at byte `from` of every row.
typedef uint32_t expected_word(const dq_expansion *e, int64_t from);

static uint32_t float_word(const dq_expansion *e, int64_t from) {
  uint32_t word;
  memcpy(&word, (const uint8_t *)e->rows[0] + from, 4);
  return word;
}
static uint32_t half_word(const dq_expansion *e, int64_t from) {
  uint16_t half;
  memcpy(&half, (const uint8_t *)e->rows[0] + from, 2);
  return dq_float_bits(dq_half_to_float(half));
}
static uint32_t halves_word(const dq_expansion *e, int64_t from) {
  uint16_t halves[2] = {0};
  for (int r = 0; r < 2; r++)
    if (e->rows[r]) memcpy(&halves[r], (const uint8_t *)e->rows[r] + from, 2);
  return halves[0] | (uint32_t)halves[1] << 16;
}
static uint32_t pair_word(const dq_expansion *e, int64_t from) {
  uint32_t word = 0;
  for (int r = 0; r < 2; r++) {
    int value = dq_int8_value(((const uint8_t *)e->rows[r])[from], e->is_signed);
    word |= ((uint32_t)(value - e->zero_point) & 0xffffu) << (16 * r);
  }
  return word;
}
static uint32_t byte_word(const dq_expansion *e, int64_t from) {
  uint32_t word = 0;
  for (int r = 0; r < 4; r++) {
    uint8_t byte = ((const uint8_t *)e->rows[r])[from];
    word |= (uint32_t)(e->flips ? byte ^ 128 : byte) << (8 * r);
  }
  return word;
}

static bool expansion_holds(const dq_expansion *e, int element, expected_word *expected) {
  const uint32_t *words = e->words;
  for (int64_t line = 0; line < e->lines; line++)
    for (int64_t at = 0; at < e->width; at++, words++) {
      bool inside = at >= e->first && at < e->end;
      int64_t from = line * e->line_step + (at - e->first) * e->stride * element;
      if (*words != (inside ? expected(e, from) : e->pad)) return false;
    }
  return true;
}

static void check_expand(checker *c, int values, int element, expected_word *expected) {
  dq_expansion e = {.lines = between(c, 1, 4),
                    .width = 1 + array_size(c) % 300,
                    .pad = 0x12345678,
                    .stride = between(c, 1, 4),
                    .is_signed = chance(c, 50),
                    .flips = chance(c, 50)};
  e.first = chance(c, 50) ? 0 : between(c, 0, dq_min_i64(e.width - 1, 20));
  e.end = chance(c, 50) ? e.width : between(c, e.first + 1, e.width);
  e.zero_point = (int32_t)between(c, e.is_signed ? -128 : 0, e.is_signed ? 127 : 255);
  int64_t length = ((e.end - e.first - 1) * e.stride + 1) * element;
  e.line_step = length + between(c, 0, 9) * element;
  size_t bytes = (size_t)((e.lines - 1) * e.line_step + length);
  input_buffer rows[4];
  for (int i = 0; i < values; i++) {
    rows[i] = input_new(bytes);
    fill_bytes(c, rows[i].data, (int64_t)bytes, false);
    e.rows[i] = rows[i].data;
  }
  output_buffer words = output_new((size_t)(e.lines * e.width) * 4, 4);
  e.words = words.data;
  ((dq_expand_function *)c->row->function)(&e);
  bool good = output_guards_hold(&words) && expansion_holds(&e, element, expected);
  finish_array(c, good, "expansion", e.width);
  for (int i = 0; i < values; i++) input_free(&rows[i]);
  output_free(&words);
}

void check_f32_expand(checker *c) { check_expand(c, 1, 4, float_word); }
void check_f16_expand(checker *c) { check_expand(c, 1, 2, half_word); }
void check_f16_pairs_expand(checker *c) { check_expand(c, chance(c, 70) ? 2 : 1, 2, halves_word); }
void check_i16_expand(checker *c) { check_expand(c, 2, 1, pair_word); }
void check_u8s8_expand(checker *c) { check_expand(c, 4, 1, byte_word); }

void check_requantize(checker *c) {
  int64_t rows = between(c, 1, 4), columns = array_size(c) % 700, stride = columns + between(c, 0, 9);
  bool by_row = chance(c, 50);
  requantization_material m = requantization_new(c, by_row ? rows : columns + 1, between(c, 1, 5000));
  if (m.form.multiplier_count != 1) m.form.multiplier_count = by_row ? rows : columns;
  input_buffer sums = input_new((size_t)(rows * stride) * 4);
  for (int64_t i = 0; i < rows * stride; i++)
    ((int32_t *)sums.data)[i] =
        (int32_t)(chance(c, 5) ? between(c, INT32_MIN, INT32_MAX) : between(c, -300000, 300000));
  output_buffer out = output_new((size_t)(rows * stride), (size_t)between(c, 0, 63));
  dq_requantize(&m.form, c->cpu, by_row, rows, columns, sums.data, stride, out.data, stride);
  bool good = output_guards_hold(&out);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      if (((uint8_t *)out.data)[i * stride + j] !=
          dq_requantize_one(&m.form, by_row ? i : j, ((int32_t *)sums.data)[i * stride + j]))
        good = false;
  finish_array(c, good, "requantization", columns);
  requantization_free(&m);
  input_free(&sums);
  output_free(&out);
}

// Any bit pattern of a float.
static void fill_patterns(checker *c, float *data, int64_t count) {
  fill_floats(c, data, count, FLOATS_SPECIAL);
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits = (uint32_t)dq_random_next(&c->random);
    if (chance(c, 40)) bits = (bits & 0x8fffffffu) | 0x30000000u; // near the ranges of binary16
    if (chance(c, 70)) memcpy(data + i, &bits, 4);
  }
}

void check_halves(checker *c) {
  int64_t count = array_size(c);
  input_buffer floats = input_new((size_t)count * 4), halves = input_new((size_t)count * 2);
  fill_patterns(c, floats.data, count);
  fill_bytes(c, halves.data, count * 2, false);
  output_buffer to_half = output_new((size_t)count * 2, (size_t)between(c, 0, 31) * 2);
  output_buffer to_float = output_new((size_t)count * 4, (size_t)between(c, 0, 15) * 4);
  output_buffer rounded = output_new((size_t)count * 4, (size_t)between(c, 0, 15) * 4);
  dq_convert_f32_f16(c->cpu, floats.data, to_half.data, count);
  dq_convert_f16_f32(c->cpu, halves.data, to_float.data, count);
  dq_round_f16(c->cpu, floats.data, rounded.data, count);
  bool good = output_guards_hold(&to_half) && output_guards_hold(&to_float) && output_guards_hold(&rounded);
  for (int64_t i = 0; i < count; i++) {
    float x = ((float *)floats.data)[i], widened = dq_half_to_float(((uint16_t *)halves.data)[i]);
    float there_and_back = dq_round_to_half(x);
    good = good && ((uint16_t *)to_half.data)[i] == dq_float_to_half(x) &&
           !memcmp((float *)to_float.data + i, &widened, 4) && !memcmp((float *)rounded.data + i, &there_and_back, 4);
  }
  finish_array(c, good, "binary16 conversion", count);
  input_free(&floats);
  input_free(&halves);
  output_free(&to_half);
  output_free(&to_float);
  output_free(&rounded);
}

void check_halves_leaky(checker *c) {
  int64_t count = array_size(c);
  float alpha = chance(c, 20) ? 0 : dq_random_float(&c->random) * 2 - 0.5f;
  input_buffer floats = input_new((size_t)count * 4);
  fill_patterns(c, floats.data, count);
  output_buffer halves = output_new((size_t)count * 2, (size_t)between(c, 0, 31) * 2);
  ((dq_f32_to_f16_leaky_function *)c->row->function)(floats.data, alpha, halves.data, count);
  bool good = output_guards_hold(&halves);
  for (int64_t i = 0; i < count; i++) {
    float x = dq_round_to_half(((float *)floats.data)[i]);
    good = good && ((uint16_t *)halves.data)[i] == dq_float_to_half(x < 0 ? alpha * x : x);
  }
  finish_array(c, good, "binary16 leaky rectifier", count);
  input_free(&floats);
  output_free(&halves);
}

void check_quantize(checker *c) {
  int64_t count = array_size(c);
  bool is_signed = chance(c, 50);
  float scale = chance(c, 30) ? 0.25f : chance(c, 10) ? 1e-38f : dq_random_float(&c->random) * 0.03f + 1e-4f;
  int32_t low = is_signed ? -128 : 0, zero = (int32_t)between(c, low, low + 255);
  input_buffer input = input_new((size_t)count * 4);
  fill_floats(c, input.data, count, (int)between(c, 0, FLOAT_MODES - 1));
  for (int64_t i = 0; i < count; i++) // ties
    if (chance(c, 20)) ((float *)input.data)[i] = scale * ((float)between(c, -300, 300) + 0.5f);
  output_buffer out = output_new((size_t)count, (size_t)between(c, 0, 63));
  if (is_signed) dq_quantize_s8(c->cpu, input.data, scale, zero, out.data, count);
  else dq_quantize_u8(c->cpu, input.data, scale, zero, out.data, count);
  bool good = output_guards_hold(&out);
  for (int64_t i = 0; i < count; i++) {
    float x = nearbyintf(((float *)input.data)[i] / scale) + (float)zero;
    int expected = x >= (float)(low + 255) ? low + 255 : x > (float)low ? (int)x : low;
    if (((uint8_t *)out.data)[i] != (uint8_t)expected) good = false;
  }
  finish_array(c, good, "quantization", count);
  input_free(&input);
  output_free(&out);
}

void check_dequantize(checker *c) {
  int64_t count = array_size(c);
  bool is_signed = chance(c, 50);
  float scale = dq_random_float(&c->random) + 1e-4f;
  int32_t low = is_signed ? -128 : 0, zero = (int32_t)between(c, low, low + 255);
  input_buffer input = input_new((size_t)count);
  fill_bytes(c, input.data, count, false);
  output_buffer out = output_new((size_t)count * 4, (size_t)between(c, 0, 15) * 4);
  if (is_signed) dq_dequantize_s8(c->cpu, input.data, scale, zero, out.data, count);
  else dq_dequantize_u8(c->cpu, input.data, scale, zero, out.data, count);
  bool good = output_guards_hold(&out);
  for (int64_t i = 0; i < count; i++) {
    float expected = (float)(dq_int8_value(((uint8_t *)input.data)[i], is_signed) - zero) * scale;
    if (memcmp((float *)out.data + i, &expected, 4)) good = false;
  }
  finish_array(c, good, "dequantization", count);
  input_free(&input);
  output_free(&out);
}

void check_lookup(checker *c) {
  int64_t count = array_size(c);
  input_buffer input = input_new((size_t)count), table = input_new(256);
  fill_bytes(c, input.data, count, false);
  fill_bytes(c, table.data, 256, false);
  output_buffer out = output_new((size_t)count, (size_t)between(c, 0, 63));
  dq_lookup(c->cpu)(input.data, table.data, out.data, count);
  bool good = output_guards_hold(&out);
  for (int64_t i = 0; i < count; i++)
    good = good && ((uint8_t *)out.data)[i] == ((uint8_t *)table.data)[((uint8_t *)input.data)[i]];
  finish_array(c, good, "lookup", count);
  input_free(&input);
  input_free(&table);
  output_free(&out);
}

// Lines as tables have them, and wilder ones.
void check_ramps(checker *c) {
  int64_t count = array_size(c);
  dq_ramps r = {.rise = 3 * dq_random_float(&c->random) - (chance(c, 20) ? 2 : 0), .fall = dq_random_float(&c->random)};
  r.rise_at = (float)between(c, -300, 300) / (chance(c, 50) ? 2 : 1.7f);
  r.fall_at = r.rise_at + (r.rise - r.fall) * (float)between(c, 0, 255);
  input_buffer input = input_new((size_t)count);
  fill_bytes(c, input.data, count, false);
  output_buffer out = output_new((size_t)count, (size_t)between(c, 0, 63));
  uint8_t *found = out.data;
  bool in_place = chance(c, 30);
  if (in_place && count) memcpy(found, input.data, (size_t)count);
  dq_ramps_of(c->cpu)(&r, in_place ? found : input.data, found, count);
  bool good = output_guards_hold(&out);
  for (int64_t i = 0; i < count; i++) {
    uint8_t expected;
    dq_ramps_c(&r, (uint8_t *)input.data + i, &expected, 1);
    good = good && found[i] == expected;
  }
  finish_array(c, good, "ramps", count);
  input_free(&input);
  output_free(&out);
}

void check_copy_rows(checker *c) {
  dq_row_copy copy = {.rows = between(c, 0, 4), .bytes = array_size(c) % 300, .flips = chance(c, 50)};
  copy.from_step = copy.bytes + between(c, 0, 9), copy.to_step = copy.bytes + between(c, 0, 70);
  int64_t last = dq_max_i64(copy.rows - 1, 0);
  input_buffer from = input_new((size_t)(last * copy.from_step + copy.bytes));
  fill_bytes(c, from.data, last * copy.from_step + copy.bytes, false);
  output_buffer out = output_new((size_t)(last * copy.to_step + copy.bytes), (size_t)between(c, 0, 63));
  memset(out.data, 7, out.bytes);
  copy.from = from.data, copy.to = out.data;
  DQ_KERNEL_FUNCTION(copy_rows, c->cpu)(&copy);
  bool good = output_guards_hold(&out);
  for (int64_t row = 0; row < copy.rows; row++)
    for (int64_t i = 0; i < (row == last ? copy.bytes : copy.to_step); i++) {
      uint8_t taken = i < copy.bytes ? copy.from[row * copy.from_step + i] ^ (copy.flips ? 0x80 : 0) : 7;
      good = good && copy.to[row * copy.to_step + i] == taken;
    }
  finish_array(c, good, "rows of bytes", copy.bytes);
  input_free(&from);
  output_free(&out);
}

enum { MOST_ROWS = 5 }; // of a window

static dq_maximum_row random_maximum(checker *c) {
  dq_maximum_row r = {.row_count = between(c, 0, MOST_ROWS),
                      .width = 1 + array_size(c) % 300 + (chance(c, 10) ? 1000 : 0),
                      .kernel = between(c, 1, chance(c, 20) ? 13 : 5),
                      .dilation = between(c, 1, 3),
                      .stride = between(c, 1, 3),
                      .lines = 1,
                      .is_signed = chance(c, 50)};
  r.begin = between(c, 0, (r.kernel - 1) * r.dilation);
  r.count = between(c, 1, (r.width + 2 * r.begin) / r.stride + 2);
  return r;
}

// Maxima of floats or, by their bits, of float16, against the C row.
static void check_maximum_floats(checker *c, int operation, size_t size) {
  dq_maximum_row r = random_maximum(c);
  const uint8_t *rows[MOST_ROWS];
  input_buffer inputs[MOST_ROWS];
  for (int i = 0; i < MOST_ROWS; i++) {
    inputs[i] = input_new((size_t)r.width * size);
    if (size == 4) fill_floats(c, inputs[i].data, r.width, (int)between(c, 0, FLOAT_MODES - 1));
    else fill_bytes(c, inputs[i].data, r.width * 2, false);
    rows[i] = inputs[i].data;
  }
  r.rows = rows;
  output_buffer found = output_new((size_t)r.count * size, (size_t)between(c, 0, 15) * size);
  output_buffer expected = output_new((size_t)r.count * size, 0);
  r.output = expected.data;
  ((dq_maximum_function *)dq_kernel_find(operation, 0)->function)(&r);
  r.output = found.data;
  ((dq_maximum_function *)dq_kernel_find(operation, c->cpu)->function)(&r);
  bool good = output_guards_hold(&found) && !memcmp(expected.data, found.data, (size_t)r.count * size);
  finish_array(c, good, size == 4 ? "maxima of floats" : "maxima of float16", r.count);
  for (int i = 0; i < MOST_ROWS; i++) input_free(&inputs[i]);
  output_free(&found);
  output_free(&expected);
}
void check_maximum_f32(checker *c) { check_maximum_floats(c, DQ_OPERATION_maximum_f32, 4); }
void check_maximum_f16(checker *c) { check_maximum_floats(c, DQ_OPERATION_maximum_f16, 2); }

void check_maximum(checker *c) {
  dq_maximum_row r = random_maximum(c);
  const uint8_t *rows[MOST_ROWS];
  input_buffer inputs[MOST_ROWS];
  r.lines = between(c, 1, 4);
  r.line_step = between(c, 0, r.width);
  for (int i = 0; i < MOST_ROWS; i++) {
    const int64_t bytes = r.width + (r.lines - 1) * r.line_step;
    inputs[i] = input_new((size_t)bytes);
    fill_bytes(c, inputs[i].data, bytes, false);
    rows[i] = inputs[i].data;
  }
  r.rows = rows;
  output_buffer out = output_new((size_t)(r.lines * r.count), (size_t)between(c, 0, 63));
  output_buffer scratch = output_new(dq_maximum_8_scratch(&r), (size_t)between(c, 0, 63));
  r.output = out.data;
  r.scratch = scratch.data;
  dq_maximum_8(c->cpu)(&r);
  bool good = output_guards_hold(&out) && output_guards_hold(&scratch);
  for (int64_t at = 0; at < r.lines * r.count; at++) {
    int most = r.is_signed ? -128 : 0;
    for (int64_t x = at % r.count * r.stride - r.begin, k = 0; k < r.kernel; k++, x += r.dilation)
      for (int64_t i = 0; x >= 0 && x < r.width && i < r.row_count; i++)
        most = (int)dq_max_i64(most, dq_int8_value(rows[i][at / r.count * r.line_step + x], r.is_signed));
    good = good && r.output[at] == (uint8_t)most;
  }
  finish_array(c, good, "maxima", r.count);
  for (int i = 0; i < MOST_ROWS; i++) input_free(&inputs[i]);
  output_free(&out);
  output_free(&scratch);
}

static dq_pair_row random_pair(checker *c) {
  dq_pair_row row = {.a_step = chance(c, 80),
                     .b_step = chance(c, 80),
                     .a_signed = chance(c, 50),
                     .b_signed = chance(c, 50),
                     .a_scale = dq_random_float(&c->random) + 1e-3f,
                     .b_scale = dq_random_float(&c->random) + 1e-3f};
  row.scale = chance(c, 20) ? row.a_scale : dq_random_float(&c->random) + 1e-2f;
  if (chance(c, 20)) row.b_scale = -row.a_scale; // a difference, with many ties
  if (chance(c, 25)) { // scales near the ends of the range, where reciprocals and remainders leave it
    float far = ldexpf(1, (int)between(c, -145, 110));
    row.a_scale *= far, row.b_scale *= far, row.scale *= far;
  }
  if (chance(c, 10)) row.scale = ldexpf(1 + dq_random_float(&c->random), (int)between(c, -149, 126));
  row.a_zero_point = (int32_t)between(c, 0, 255) - (row.a_signed ? 128 : 0);
  row.b_zero_point = (int32_t)between(c, 0, 255) - (row.b_signed ? 128 : 0);
  int32_t least = chance(c, 50) ? -128 : 0;
  row.low = (int32_t)between(c, least, least + 255);
  row.high = chance(c, 50) ? least + 255 : (int32_t)between(c, row.low, least + 255);
  row.zero_point = (int32_t)between(c, least, least + 255);
  return row;
}

void check_pair(checker *c) {
  dq_pair_row row = random_pair(c);
  row.count = array_size(c);
  input_buffer a = input_new((size_t)row.count + 1), b = input_new((size_t)row.count + 1);
  fill_bytes(c, a.data, row.count + 1, false);
  fill_bytes(c, b.data, row.count + 1, false);
  row.a = a.data;
  row.b = b.data;
  if (chance(c, 30)) dq_add_8_shorten(c->cpu, &row);
  for (int product = 0; product < 2; product++) {
    output_buffer out = output_new((size_t)row.count, (size_t)between(c, 0, 63));
    row.output = out.data;
    (product ? dq_multiply_8 : dq_add_8)(c->cpu, &row);
    bool good = output_guards_hold(&out);
    for (int64_t i = 0; i < row.count; i++) {
      float x = (float)(dq_int8_value(row.a[i * row.a_step], row.a_signed) - row.a_zero_point) * row.a_scale;
      float y = (float)(dq_int8_value(row.b[i * row.b_step], row.b_signed) - row.b_zero_point) * row.b_scale;
      float q = nearbyintf((product ? x * y : x + y) / row.scale) + (float)row.zero_point;
      int expected = q >= (float)row.high ? row.high : q > (float)row.low ? (int)q : row.low;
      good = good && row.output[i] == (uint8_t)expected;
    }
    finish_array(c, good, product ? "products" : "sums", row.count);
    output_free(&out);
  }
  input_free(&a);
  input_free(&b);
}

void check_functions(checker *c) {
  static const struct {
    void (*array)(unsigned cpu, const float *input, float *output, int64_t count);
    float (*one)(float x);
  } functions[] = {{dq_exp_f32, dq_exp_one},     {dq_sigmoid_f32, dq_sigmoid_one},   {dq_tanh_f32, dq_tanh_one},
                   {dq_expm1_f32, dq_expm1_one}, {dq_softplus_f32, dq_softplus_one}, {dq_erf_f32, dq_erf_one}};
  enum { FUNCTIONS = sizeof functions / sizeof *functions };
  int64_t count = array_size(c);
  input_buffer input = input_new((size_t)count * 4), expected = input_new((size_t)count * 4);
  fill_patterns(c, input.data, count);
  for (int k = 0; k < FUNCTIONS; k++) {
    output_buffer found = output_new((size_t)count * 4, (size_t)between(c, 0, 15) * 4);
    functions[k].array(c->cpu, input.data, found.data, count);
    for (int64_t i = 0; i < count; i++) ((float *)expected.data)[i] = functions[k].one(((float *)input.data)[i]);
    finish_array(c, output_guards_hold(&found) && same_floats(expected.data, found.data, count), "functions", count);
    output_free(&found);
  }
  input_free(&input);
  input_free(&expected);
}

void check_tail(checker *c) {
  dq_activation activation = random_activation(c);
  bool silu = chance(c, 50), adds = !silu || chance(c, 50);
  int64_t rows = between(c, 1, 5), columns = array_size(c), stride = columns + between(c, 0, 40);
  int64_t count = columns ? (rows - 1) * stride + columns : 0;
  input_buffer input = input_new((size_t)count * 4), addend = input_new((size_t)count * 4);
  input_buffer expected = input_new((size_t)count * 4);
  output_buffer found = output_new((size_t)count * 4, (size_t)between(c, 0, 15) * 4);
  fill_patterns(c, input.data, count);
  fill_patterns(c, addend.data, count);
  memcpy(found.data, input.data, (size_t)count * 4);
  for (int64_t i = 0; i < count; i++) {
    float x = ((const float *)input.data)[i];
    if (silu && i % stride < columns) x = dq_silu_one(x);
    if (adds && i % stride < columns) x = dq_activate(&activation, x + ((const float *)addend.data)[i]);
    ((float *)expected.data)[i] = x;
  }
  dq_bounds bounds = dq_activation_bounds(&activation);
  dq_tail tail = {.values = found.data,
                  .addend = adds ? addend.data : NULL,
                  .rows = rows,
                  .columns = columns,
                  .stride = stride,
                  .silu = silu,
                  .leaky = bounds.leaky,
                  .low = bounds.low,
                  .high = bounds.high,
                  .alpha = bounds.alpha};
  DQ_KERNEL_FUNCTION(f32_tail, c->cpu)(&tail);
  finish_array(c, output_guards_hold(&found) && same_floats(expected.data, found.data, count), "tail", count);
  output_free(&found);
  input_free(&input);
  input_free(&addend);
  input_free(&expected);
}
