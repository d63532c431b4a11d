// dqcheck: walks the kernel table and holds every row whose instruction set is present against its
// reference, bit by bit, over random shapes, values, alignments and thread counts.
#include "tests/check/check.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static check_case *const f32_tile_cases[] = {check_conv_f32, check_gemm_f32, check_conv_matrix, check_conv_gradient,
                                             NULL};
static check_case *const f64_tile_cases[] = {check_f64_tile, NULL};
static check_case *const f64_rotations_cases[] = {check_f64_rotations, NULL};
static check_case *const f64_dots_cases[] = {check_f64_dots, NULL};
static check_case *const i16_tile_cases[] = {check_conv_int8, check_gemm_int8, check_winograd_int8, NULL};
static check_case *const u8s8_tile_cases[] = {check_conv_int8, check_gemm_int8, NULL};
static check_case *const u8s8_bytes_tile_cases[] = {check_conv_int8, NULL};
static check_case *const u8s8_pixels_cases[] = {check_conv_pixels, NULL};
static check_case *const u8s8_pair_tile_cases[] = {check_conv_int8_pairs, NULL};
static check_case *const u8s8_sums16_tile_cases[] = {check_conv_int8_sums16, NULL};
static check_case *const u8s8_block_cases[] = {check_conv_int8, check_gemm_int8, NULL};
static check_case *const f16_tile_cases[] = {check_conv_f16_sums, NULL};
static check_case *const f32_correlate_cases[] = {check_depthwise_f32, NULL};
static check_case *const f32_window_cases[] = {check_window_f32, NULL};
static check_case *const f32_taps_cases[] = {check_conv_gradient, NULL};
static check_case *const f16_window_cases[] = {check_window_f16, NULL};
static check_case *const i16_correlate_cases[] = {check_depthwise_int8, NULL};
static check_case *const u8s8_correlate_cases[] = {check_depthwise_int8, NULL};
static check_case *const u8s8_slide_cases[] = {check_depthwise_int8, NULL};
static check_case *const u8s8_window_cases[] = {check_depthwise_int8, check_window_int8, NULL};
static check_case *const winograd_input_cases[] = {check_winograd, NULL};
static check_case *const winograd_output_cases[] = {check_winograd, NULL};
static check_case *const i16_winograd_input_cases[] = {check_winograd_int8, NULL};
static check_case *const i16_winograd_weights_cases[] = {check_winograd_int8, NULL};
static check_case *const i32_winograd_output_cases[] = {check_winograd_int8, NULL};
static check_case *const f32_columns_cases[] = {check_conv_channels, check_conv_gradient, NULL};
static check_case *const f32_expand_cases[] = {check_f32_expand, NULL};
static check_case *const f16_expand_cases[] = {check_f16_expand, check_conv_f16, check_depthwise_f16, NULL};
static check_case *const f16_pairs_expand_cases[] = {check_f16_pairs_expand, check_conv_f16_sums, NULL};
static check_case *const i16_expand_cases[] = {check_i16_expand, NULL};
static check_case *const u8s8_expand_cases[] = {check_u8s8_expand, NULL};
static check_case *const copy_rows_cases[] = {check_copy_rows, NULL};
static check_case *const requantize_cases[] = {check_requantize, NULL};
static check_case *const f32_to_f16_cases[] = {check_halves, NULL};
static check_case *const f16_to_f32_cases[] = {check_halves, NULL};
static check_case *const f32_to_f16_leaky_cases[] = {check_halves_leaky, NULL};
static check_case *const round_f16_cases[] = {check_halves, NULL};
static check_case *const quantize_cases[] = {check_quantize, NULL};
static check_case *const dequantize_cases[] = {check_dequantize, NULL};
static check_case *const lookup_cases[] = {check_lookup, NULL};
static check_case *const ramps_cases[] = {check_ramps, NULL};
static check_case *const maximum_8_cases[] = {check_maximum, NULL};
static check_case *const maximum_f32_cases[] = {check_maximum_f32, NULL};
static check_case *const maximum_f16_cases[] = {check_maximum_f16, NULL};
static check_case *const add_8_cases[] = {check_pair, NULL};
static check_case *const multiply_8_cases[] = {check_pair, NULL};
static check_case *const range_cases[] = {check_range, NULL};
static check_case *const bins_cases[] = {check_bins, NULL};
static check_case *const moments_cases[] = {check_moments, NULL};
static check_case *const squares_cases[] = {check_squares, NULL};
static check_case *const plane_sums_cases[] = {check_planes, NULL};
static check_case *const combine_cases[] = {check_combine, NULL};
static check_case *const exp_f32_cases[] = {check_functions, NULL};
static check_case *const sigmoid_f32_cases[] = {check_functions, NULL};
static check_case *const tanh_f32_cases[] = {check_functions, NULL};
static check_case *const expm1_f32_cases[] = {check_functions, NULL};
static check_case *const softplus_f32_cases[] = {check_functions, NULL};
static check_case *const erf_f32_cases[] = {check_functions, NULL};
static check_case *const f32_tail_cases[] = {check_tail, NULL};
static check_case *const audit_running_cases[] = {check_audit, NULL};
static check_case *const audit_fill_cases[] = {check_audit, NULL};
static check_case *const audit_windows_cases[] = {check_audit, NULL};
static check_case *const audit_reached_cases[] = {check_audit, NULL};
static check_case *const audit_trims_cases[] = {check_audit, NULL};
static check_case *const audit_totals_cases[] = {check_audit, NULL};
static check_case *const audit_pairs_cases[] = {check_audit, NULL};
static check_case *const audit_compare_cases[] = {check_audit, NULL};
static check_case *const audit_whole_cases[] = {check_audit, NULL};
static check_case *const audit_turn_cases[] = {check_audit, NULL};
static check_case *const audit_rows_cases[] = {check_audit, NULL};
static check_case *const audit_blocks_cases[] = {check_audit, NULL};

// An operation without cases does not link.
static check_case *const *const cases[] = {
#define DQ_OPERATION(operation, family) operation##_cases,
#include "lib/kernels/table/kernels.def"
};

typedef struct options {
  uint64_t seed;
  int64_t count; // cases per row and case function
  const char *only;
  unsigned cpu;
  bool list, bench;
} options;

static void usage(FILE *to) {
  fprintf(to, "usage: dqcheck [--seed N] [--cases N] [--only TEXT] [--cpu LIST] [--list] [--bench]\n"
              "TEXT: a family (the second column of --list) or part of a kernel's name; LIST: c, native or names,\n"
              "as for --cpu-mask\n");
}

static bool parse(int count, char **arguments, options *o) {
  static const struct option known[] = {{"seed", required_argument, NULL, 's'}, {"cases", required_argument, NULL, 'n'},
                                        {"only", required_argument, NULL, 'o'}, {"cpu", required_argument, NULL, 'c'},
                                        {"list", no_argument, NULL, 'l'},       {"bench", no_argument, NULL, 'b'},
                                        {"help", no_argument, NULL, 'h'},       {0}};
  *o = (options){.count = 100, .cpu = ~0u};
  dq_error error = {0};
  for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) switch (option) {
    case 's': o->seed = strtoull(optarg, NULL, 10); break;
    case 'n': o->count = strtoll(optarg, NULL, 10); break;
    case 'o': o->only = optarg; break;
    case 'l': o->list = true; break;
    case 'b': o->bench = true; break;
    case 'c':
      if (dq_cpu_mask_parse(optarg, &o->cpu, &error) == DQ_OK) break;
      fprintf(stderr, "dqcheck: %s\n", error.message);
      return false;
    case 'h': usage(stdout); exit(0);
    default: usage(stderr); return false;
    }
  return optind == count;
}

static void list(void) {
  for (int i = 0; i < dq_kernel_count(); i++) {
    const dq_kernel *row = dq_kernel_row(i);
    char features[64];
    printf("%-28s %-15s %-8s %2dx%-3d %s\n", row->symbol, dq_kernel_family(row),
           dq_cpu_mask_text(row->feature, features, sizeof features), row->rows, row->columns, row->types);
  }
}

static void check_row(checker *c, const options *o, int index) {
  c->row = dq_kernel_row(index);
  c->cpu = dq_cpu_with_implied(c->row->feature);
  c->reached = 0;
  int64_t passed = c->passed, failed = c->failed;
  if (dq_kernel_find(c->row->operation, c->cpu) != c->row) {
    report(c, false, "the search does not find this row with its own features");
    return;
  }
  for (check_case *const *function = cases[c->row->operation]; *function; function++)
    for (int64_t i = 0; i < o->count; i++) {
      c->case_seed = o->seed * 1000003u + (uint64_t)i; // the same cases for every row
      c->random.state = c->case_seed;
      (*function)(c);
    }
  if (o->count >= 20 && c->reached == 0) report(c, false, "no case came to this kernel");
  printf("%-28s %-15s %6lld passed %4lld failed\n", c->row->symbol, dq_kernel_family(c->row),
         (long long)(c->passed - passed), (long long)(c->failed - failed));
  fflush(stdout);
}

// For the handler below only: what is being checked when a kernel crashes.
static checker *running;

static void crashed(int number) {
  char text[200];
  int length = snprintf(text, sizeof text, "CRASHED with signal %d: %s (case seed %llu)\n", number,
                        running->row ? running->row->symbol : "no kernel", (unsigned long long)running->case_seed);
  ssize_t written = write(STDOUT_FILENO, text, (size_t)length);
  _exit(written == length ? 1 : 5);
}

static void charge_crashes(checker *c) {
  running = c;
  struct sigaction action = {.sa_handler = crashed};
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

static void print_left_out(const char *why, unsigned features) {
  char text[128];
  if (features) printf("*** NOT CHECKED, %s: %s ***\n", why, dq_cpu_mask_text(features, text, sizeof text));
}

static int check_all(const options *o, unsigned present) {
  checker c = {0};
  unsigned left_out = 0;
  charge_crashes(&c);
  for (int i = 1; i < CHECK_POOLS; i++)
    if (!(c.pools[i] = dq_pool_new(i + 1))) return 5;
  for (int i = 0; i < dq_kernel_count(); i++) {
    const dq_kernel *row = dq_kernel_row(i);
    if (o->only && strcmp(o->only, dq_kernel_family(row)) && !strstr(row->symbol, o->only)) continue;
    unsigned needed = dq_cpu_with_implied(row->feature);
    if ((needed & present & o->cpu) == needed) check_row(&c, o, i);
    else left_out |= row->feature;
  }
  for (int i = 1; i < CHECK_POOLS; i++) dq_pool_free(c.pools[i]);
  print_left_out("masked", left_out & present);
  print_left_out("not present", left_out & ~present);
  printf("%lld passed, %lld failed\n", (long long)c.passed, (long long)c.failed);
  if (!c.passed && !c.failed)
    fprintf(
        stderr,
        "dqcheck: nothing was checked: no kernel that runs here has the family or name of --only (--list shows all)\n");
  return c.failed || !c.passed;
}

int main(int count, char **arguments) {
  options o;
  setvbuf(stdout, NULL, _IOLBF, 0); // so that a crash leaves what came before
  if (!parse(count, arguments, &o)) return 2;
  unsigned present = dq_cpu_detect();
  if (o.list) list();
  else if (o.bench) bench_all(present & o.cpu, o.only);
  else return check_all(&o, present);
  return 0;
}
