// dqcheck --bench: the shapes of well-known networks on every instruction set present, one thread,
// median of runs. MACs count padding as if it were there.
#include "tests/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_RUNS = 5, MOST_RUNS = 400 };
static const double SECONDS = 0.06; // per figure, at least LEAST_RUNS

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); // what others do to the machine matters less
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_time(void (*work)(void *), void *argument) {
  double times[MOST_RUNS], start = now();
  work(argument); // warm-up
  int runs = 0;
  do {
    double before = now();
    work(argument);
    times[runs++] = now() - before;
  } while (runs < MOST_RUNS && (runs < LEAST_RUNS || now() - start < SECONDS));
  qsort(times, (size_t)runs, sizeof *times, compare);
  return times[runs / 2];
}

static void *room(size_t bytes) {
  void *pointer = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (!pointer) exit(5);
  memset(pointer, 0, bytes);
  return pointer;
}

static const struct shape {
  const char *name;
  int64_t in, out, size, kernel, stride, pad, groups;
} shapes[] = {
    {"squeezenet conv1", 3, 64, 227, 3, 2, 0, 1},
    {"squeezenet fire2 squeeze", 64, 16, 56, 1, 1, 0, 1},
    {"squeezenet fire2 expand1", 16, 64, 56, 1, 1, 0, 1},
    {"squeezenet fire2 expand3", 16, 64, 56, 3, 1, 1, 1},
    {"squeezenet fire4 expand3", 32, 128, 28, 3, 1, 1, 1},
    {"squeezenet fire8 expand3", 64, 256, 14, 3, 1, 1, 1},
    {"squeezenet conv10", 512, 1000, 14, 1, 1, 0, 1},
    {"resnet conv1", 3, 64, 224, 7, 2, 3, 1},
    {"resnet layer1", 64, 64, 56, 3, 1, 1, 1},
    {"resnet layer2", 128, 128, 28, 3, 1, 1, 1},
    {"resnet layer4", 512, 512, 7, 3, 1, 1, 1},
    {"resnet down", 256, 512, 28, 1, 2, 0, 1},
    {"mobilenet expand", 24, 144, 56, 1, 1, 0, 1},
    {"mobilenet project", 576, 96, 14, 1, 1, 0, 1},
    {"mobilenet depthwise 112", 32, 32, 112, 3, 1, 1, 32},
    {"mobilenet depthwise s2", 96, 96, 112, 3, 2, 1, 96},
    {"mobilenet depthwise 14", 576, 576, 14, 3, 1, 1, 576},
    {"depthwise 5x5", 240, 240, 28, 5, 1, 2, 240},
};

static dq_conv_parameters parameters_of(const struct shape *s) {
  int64_t out = output_size(s->size, s->kernel, s->stride, 1, s->pad, s->pad);
  return (dq_conv_parameters){.batch = 1,
                              .groups = s->groups,
                              .in_channels = s->in,
                              .out_channels = s->out,
                              .in_height = s->size,
                              .in_width = s->size,
                              .kernel_height = s->kernel,
                              .kernel_width = s->kernel,
                              .stride_height = s->stride,
                              .stride_width = s->stride,
                              .dilation_height = 1,
                              .dilation_width = 1,
                              .pad_top = s->pad,
                              .pad_left = s->pad,
                              .pad_bottom = s->pad,
                              .pad_right = s->pad,
                              .out_height = out,
                              .out_width = out,
                              .activation = {.kind = DQ_ACTIVATION_RELU}};
}

typedef struct conv_work {
  dq_conv_plan plan;
  const dq_requantization *requantization; // NULL: fp32
  void *packed, *input, *output, *scratch;
} conv_work;

static void run_conv(void *argument) {
  conv_work *w = argument;
  if (w->requantization)
    dq_conv_int8_run(&w->plan, w->packed, w->input, w->output, w->requantization, w->scratch, NULL);
  else dq_conv_f32_run(&w->plan, w->packed, w->input, NULL, w->output, w->scratch, NULL);
}

static void bench_stops(const dq_error *error) {
  fprintf(stderr, "dqcheck: %s\n", error->message);
  exit(error->status);
}

// Seconds of one convolution, in fp32 or int8.
static double time_conv(const struct shape *s, unsigned cpu, bool float32) {
  dq_conv_parameters p = parameters_of(s);
  dq_conv_int8_parameters q = {.shape = p, .weight_signed = true, .input_zero_point = 120};
  float multiplier = 0.001f;
  dq_requantization r = {&multiplier, 1, NULL, 100, 100, 255, false};
  conv_work w = {.requantization = float32 ? NULL : &r};
  dq_error error = {0};
  if ((float32 ? dq_conv_f32_plan(&p, cpu, &w.plan, &error) : dq_conv_int8_plan(&q, cpu, &w.plan, &error)))
    bench_stops(&error);
  size_t weights = (size_t)(p.out_channels * (p.in_channels / p.groups) * p.kernel_height * p.kernel_width);
  size_t inputs = (size_t)(p.in_channels * p.in_height * p.in_width);
  checker c = {.random = {1}};
  void *raw = room(weights * 4);
  w.input = room(inputs * 4);
  w.output = room((size_t)(p.out_channels * p.out_height * p.out_width) * 4);
  w.packed = room(dq_conv_packed_bytes(&w.plan));
  w.scratch = room(dq_conv_scratch_bytes(&w.plan, 1));
  if (float32) {
    fill_floats(&c, raw, (int64_t)weights, FLOATS_NORMAL);
    fill_floats(&c, w.input, (int64_t)inputs, FLOATS_NORMAL);
    dq_conv_f32_pack(&w.plan, raw, NULL, w.packed);
  } else {
    fill_bytes(&c, raw, (int64_t)weights, false);
    fill_bytes(&c, w.input, (int64_t)inputs, false);
    dq_conv_int8_pack(&w.plan, raw, w.packed);
  }
  double seconds = median_time(run_conv, &w);
  free(raw);
  free(w.input);
  free(w.output);
  free(w.packed);
  free(w.scratch);
  return seconds;
}

// The instruction sets to compare; fp32 has no form of its own for the last ones of a machine.
static const struct {
  const char *name;
  unsigned cpu;
  bool float32;
} levels[] = {{"c", 0, true},
              {"c", 0, false},
              {"avx2", DQ_CPU_AVX2, true},
              {"avx2", DQ_CPU_AVX2, false},
              {"avx512", DQ_CPU_AVX2 | DQ_CPU_AVX512, true},
              {"avx512", DQ_CPU_AVX2 | DQ_CPU_AVX512, false},
              {"vnni", DQ_CPU_AVX2 | DQ_CPU_AVX512 | DQ_CPU_VNNI, false},
              {"amx", DQ_CPU_AVX2 | DQ_CPU_AVX512 | DQ_CPU_VNNI | DQ_CPU_AMX, false},
              {"neon", DQ_CPU_NEON, true},
              {"neon", DQ_CPU_NEON, false},
              {"dotprod", DQ_CPU_NEON | DQ_CPU_DOTPROD, false}};
enum { LEVELS = sizeof levels / sizeof *levels };

static bool there(int level, unsigned cpu) { return (levels[level].cpu & cpu) == levels[level].cpu; }

static void print_levels(int first, unsigned cpu) {
  for (int i = first; i < LEVELS; i++)
    if (there(i, cpu))
      printf(" %6s %s%s", levels[i].name, levels[i].float32 ? "fp32" : "int8", levels[i].float32 ? "" : "       ");
  printf("\n");
}

static void bench_convolutions(unsigned cpu, bool with_c) {
  printf("convolution, GMAC/s on one thread (int8: times the fp32 before it)\n%-26s %8s", "", "us");
  print_levels(with_c ? 0 : 2, cpu);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    dq_conv_parameters p = parameters_of(&shapes[i]);
    double giga = (double)dq_conv_macs(&p) * 1e-9, base = 0, best = 0;
    printf("%-26s ", shapes[i].name);
    char line[400];
    int used = 0;
    for (int j = with_c ? 0 : 2; j < LEVELS; j++) {
      if (!there(j, cpu)) continue;
      double speed = giga / time_conv(&shapes[i], levels[j].cpu, levels[j].float32);
      if (levels[j].float32) base = best = speed;
      used += snprintf(line + used, sizeof line - (size_t)used, " %11.2f", speed);
      if (!levels[j].float32) used += snprintf(line + used, sizeof line - (size_t)used, " x%-5.2f", speed / base);
    }
    printf("%8.1f%s\n", best > 0 ? giga / best * 1e6 : 0.0, line);
  }
}

// ---- Matrix products with constant, packed B ----
static const struct {
  const char *name;
  int64_t rows, columns, depth;
} products[] = {{"mobilenet classifier", 1, 1000, 1280},
                {"resnet classifier", 1, 1000, 2048},
                {"batch of 32", 32, 1000, 1280},
                {"attention 197", 197, 768, 768},
                {"square 512", 512, 512, 512}};

typedef struct product_work {
  dq_gemm_parameters f32;
  dq_gemm_int8_parameters int8;
  unsigned cpu;
  void *a, *packed, *out, *scratch;
} product_work;

static void run_product_f32(void *argument) {
  product_work *w = argument;
  dq_gemm_f32(&w->f32, w->cpu, w->a, NULL, w->packed, w->out, w->scratch, NULL);
}
static void run_product_int8(void *argument) {
  product_work *w = argument;
  dq_gemm_int8(&w->int8, w->cpu, w->a, NULL, w->packed, w->out, NULL, w->scratch, NULL);
}

static double time_product(int64_t rows, int64_t columns, int64_t depth, unsigned cpu, bool float32) {
  static const int32_t zero = 120;
  product_work w = {.cpu = cpu};
  w.f32 = (dq_gemm_parameters){.rows = rows,
                               .columns = columns,
                               .depth = depth,
                               .transpose_b = true,
                               .a_stride = depth,
                               .b_stride = depth,
                               .out_stride = columns,
                               .alpha = 1};
  w.int8 = (dq_gemm_int8_parameters){.rows = rows,
                                     .columns = columns,
                                     .depth = depth,
                                     .transpose_b = true,
                                     .a_stride = depth,
                                     .b_stride = depth,
                                     .out_stride = columns,
                                     .b_signed = true,
                                     .a_zero_points = &zero,
                                     .a_zero_point_count = 1};
  w.a = room((size_t)(rows * depth) * 4);
  w.out = room((size_t)(rows * columns) * 4);
  void *b = room((size_t)(columns * depth) * 4);
  w.packed = room(float32 ? dq_gemm_f32_packed_bytes(&w.f32, cpu) : dq_gemm_int8_packed_bytes(&w.int8, cpu));
  w.scratch = room(float32 ? dq_gemm_f32_scratch_bytes(&w.f32, cpu, 1) : dq_gemm_int8_scratch_bytes(&w.int8, cpu, 1));
  if (float32) dq_gemm_f32_pack(&w.f32, cpu, b, w.packed);
  else dq_gemm_int8_pack(&w.int8, cpu, b, w.packed);
  double seconds = median_time(float32 ? run_product_f32 : run_product_int8, &w);
  free(w.a);
  free(w.out);
  free(b);
  free(w.packed);
  free(w.scratch);
  return seconds;
}

static void bench_products(unsigned cpu) {
  printf("matrix product, GMAC/s on one thread (int8: times the fp32 before it)\n%-26s", "");
  print_levels(2, cpu);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    double giga = (double)(products[i].rows * products[i].columns * products[i].depth) * 1e-9, base = 0;
    printf("%-26s", products[i].name);
    for (int j = 2; j < LEVELS; j++) {
      if (!there(j, cpu)) continue;
      double speed = giga / time_product(products[i].rows, products[i].columns, products[i].depth, levels[j].cpu,
                                         levels[j].float32);
      if (levels[j].float32) base = speed;
      printf(" %11.2f", speed);
      if (!levels[j].float32) printf(" x%-5.2f", speed / base);
    }
    printf("\n");
  }
}

// ---- Arrays ----
enum { ARRAY = 1 << 20 };
typedef struct array_work {
  unsigned cpu;
  float *floats;
  void *small;
  int32_t *sums;
} array_work;

static void to_half(void *a) {
  array_work *w = a;
  dq_convert_f32_f16(w->cpu, w->floats, w->small, ARRAY);
}
static void from_half(void *a) {
  array_work *w = a;
  dq_convert_f16_f32(w->cpu, w->small, w->floats, ARRAY);
}
static void quantize(void *a) {
  array_work *w = a;
  dq_quantize_u8(w->cpu, w->floats, 0.02f, 128, w->small, ARRAY);
}
static void dequantize(void *a) {
  array_work *w = a;
  dq_dequantize_s8(w->cpu, w->small, 0.02f, 3, w->floats, ARRAY);
}
static void requantize(void *a) {
  array_work *w = a;
  float multiplier = 0.001f;
  dq_requantization r = {&multiplier, 1, NULL, 100, 0, 255, false};
  dq_requantize(&r, w->cpu, true, 1, ARRAY, w->sums, ARRAY, w->small, ARRAY);
}
static void look_up(void *a) {
  array_work *w = a;
  dq_lookup(w->cpu)(w->small, (const uint8_t *)w->small + ARRAY, (uint8_t *)w->small, ARRAY);
}
static void add_pair(void *a) {
  array_work *w = a;
  dq_pair_row row = {.a = w->small,
                     .b = (const uint8_t *)w->small + ARRAY,
                     .a_step = 1,
                     .b_step = 1,
                     .a_scale = 0.02f,
                     .b_scale = 0.03f,
                     .scale = 0.04f,
                     .high = 255,
                     .output = (uint8_t *)w->floats,
                     .count = ARRAY};
  dq_add_8(w->cpu, &row);
}
static void range(void *a) {
  array_work *w = a;
  volatile dq_range found = dq_find_range(w->cpu, w->floats, ARRAY);
  (void)found;
}

static const struct {
  const char *name;
  void (*run)(void *);
  double bytes; // per element, read and written
} arrays[] = {{"f32 to f16", to_half, 6},    {"f16 to f32", from_half, 6},
              {"quantize u8", quantize, 5},  {"dequantize s8", dequantize, 5},
              {"requantize", requantize, 5}, {"lookup", look_up, 2},
              {"add, 8 bits", add_pair, 3},  {"range", range, 4}};

static void bench_arrays(unsigned cpu) {
  checker c = {.random = {1}};
  array_work w = {.floats = room(ARRAY * 4), .small = room(ARRAY * 2), .sums = room(ARRAY * 4)};
  printf("arrays of %d, GB/s on one thread (ratio to c)\n%-26s", ARRAY, "");
  for (int i = 0; i < LEVELS; i++)
    if (levels[i].float32 && there(i, cpu)) printf(" %16s", levels[i].name);
  printf("\n");
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    double base = 0;
    printf("%-26s", arrays[i].name);
    for (int j = 0; j < LEVELS; j++) {
      if (!levels[j].float32 || !there(j, cpu)) continue;
      fill_floats(&c, w.floats, ARRAY, FLOATS_NORMAL);
      for (int k = 0; k < ARRAY; k++) w.sums[k] = (int32_t)between(&c, -200000, 200000);
      dq_convert_f32_f16(0, w.floats, w.small, ARRAY);
      w.cpu = levels[j].cpu;
      double speed = ARRAY * arrays[i].bytes * 1e-9 / median_time(arrays[i].run, &w);
      if (j == 0) base = speed;
      printf(" %9.2f x%-5.2f", speed, speed / base);
    }
    printf("\n");
  }
  free(w.floats);
  free(w.small);
  free(w.sums);
}

void bench_all(unsigned cpu, const char *only) {
  bool convolutions = !only || strstr(only, "conv_") || strstr(only, "depthwise");
  bool matrices = !only || strstr(only, "gemm");
  if (convolutions) bench_convolutions(cpu, !only);
  if (matrices) bench_products(cpu);
  if (!only || (!convolutions && !matrices)) bench_arrays(cpu);
}
