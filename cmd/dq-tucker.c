// dq-tucker: Tucker-2 decomposition of a model's convolutions.
#include <inttypes.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/data.h"
#include "cmd/hook.h"
#include "decomp/ranks_file.h"
#include "decomp/search.h"
#include "decomp/tucker_spec.h"
#include "lib/eval/accuracy.h"
#include "lib/onnx/onnx.h"
#include "lib/passes/origin.h"
#include "lib/report/report.h"

typedef struct tucker_options {
  dq_common_options common;
  dq_output_options output;
  dq_report_options report;
  dq_data_arguments data;
  double ratio, energy, macs, weaken, max_drop;
  const char *ranks, *save_ranks, *retrain, *eval;
  int64_t multiple, eval_limit, every;
  bool plain, vbmf, never_slower, refine, resume, gemm;
  dq_option_list shapes;
} tucker_options;

static const dq_option rows[] = {
    {.name = "ratio", .type = DQ_OPTION_DOUBLE, .value = "R", .maximum = 1, .open_minimum = true,
     .group = "Ranks", DQ_INTO(tucker_options, ratio),
     .help = "keep this share of each mode's rank, above 0 and at most 1"},
    {.name = "energy", .type = DQ_OPTION_DOUBLE, .value = "E", .maximum = 1, .open_minimum = true,
     .group = "Ranks", DQ_INTO(tucker_options, energy),
     .help = "keep this share of each mode's squared singular values",
     .details = "The smallest ranks are taken that reach it; 0.9 is a place to start."},
    {.name = "vbmf", .type = DQ_OPTION_FLAG, .group = "Ranks", DQ_INTO(tucker_options, vbmf),
     .help = "keep the singular values above the noise that the weights themselves show",
     .details = "Empirical variational Bayes matrix factorization of each unfolding: nothing to "
                "choose, but trained weights look noisier than they are; see --weaken. A layer in "
                "which a mode would keep a single channel is left alone."},
    {.name = "weaken", .type = DQ_OPTION_DOUBLE, .value = "W", .minimum = 0, .maximum = 1,
     .preset = "0", .group = "Ranks", DQ_INTO(tucker_options, weaken),
     .help = "with --vbmf: this share of what it drops is kept as well",
     .details = "The rank is r + W (full - r): 0 takes the rule as it is, 1 keeps the full rank."},
    {.name = "ranks", .type = DQ_OPTION_FILE, .group = "Ranks", DQ_INTO(tucker_options, ranks),
     .help = "take layers and ranks from a settings file, exactly",
     .details = "JSON: {\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"conv1\": "
                "{\"out\": 16, \"in\": 8}}}. Layers not named are left alone."},
    {.name = "macs", .type = DQ_OPTION_PERCENT, .value = "-P%", .minimum = -100, .maximum = 0,
     .open_minimum = true, .group = "Ranks", DQ_INTO(tucker_options, macs),
     .help = "change of the whole model's multiply-accumulates, such as -50%",
     .details = "The ranks of all layers are chosen together. With --data: for the least noise in the "
                "outputs, as measured layer by layer; without: for the least sum of squared error "
                "bounds of the weights."},
    {.name = "max-drop", .type = DQ_OPTION_DOUBLE, .value = "D", .minimum = 0, .maximum = 100,
     .group = "Ranks", DQ_INTO(tucker_options, max_drop),
     .help = "as few multiply-accumulates as the quality allows, at most D points lost",
     .details = "Bisection over the bound of --macs, about seven trials, each fitted to --data and "
                "measured on the labelled pictures of --eval. The best so far is always in the "
                "output file; after --time-limit no further trial begins. What was found is kept "
                "beside the output (OUT.search) until the search is complete, for --resume."},
    {.name = "resume", .type = DQ_OPTION_FLAG, .group = "Ranks", DQ_INTO(tucker_options, resume),
     .help = "go on with a search of --max-drop that was ended"},
    {.name = "eval", .type = DQ_OPTION_FILE, .value = "SPEC", .group = "Data",
     DQ_INTO(tucker_options, eval),
     .help = "labelled pictures --max-drop is measured on (default: those of --data)"},
    {.name = "eval-limit", .type = DQ_OPTION_INT, .minimum = 1, .maximum = 1e9, .value = "N",
     .group = "Data", DQ_INTO(tucker_options, eval_limit),
     .help = "of --eval: use the first N pictures only"},
    {.name = "multiple", .type = DQ_OPTION_INT, .value = "N", .minimum = 1, .maximum = 4096,
     .preset = "1", .group = "Ranks", DQ_INTO(tucker_options, multiple),
     .help = "round ranks up to a multiple of N, at most to the full rank",
     .details = "Kernels compute blocks of 8 or 16 channels: ranks in between cost as much."},
    {.name = "plain", .type = DQ_OPTION_FLAG, .group = "Ranks", DQ_INTO(tucker_options, plain),
     .help = "decompose weights as they stand, whatever batch normalization follows",
     .details = "Otherwise the factors are fitted to --data; without data, output channels count as "
                "the batch normalization behind a convolution scales them, in the singular vectors "
                "and in the energies."},
    {.name = "gemm", .type = DQ_OPTION_FLAG, .group = "Ranks", DQ_INTO(tucker_options, gemm),
     .help = "decompose Gemm and MatMul with constant matrices too; not with --data",
     .details = "By the truncated singular value decomposition: two products instead of one, at the "
                "rank of the input mode."},
    {.name = "refine", .type = DQ_OPTION_FLAG, .group = "Ranks", DQ_INTO(tucker_options, refine),
     .help = "iterate until the factors at the ranks chosen get no better",
     .details = "Higher-order orthogonal iteration: the error of the weight falls a little. With "
                "--data: twenty rounds of the fit instead of four."},
    {.name = "never-slower", .type = DQ_OPTION_FLAG, .group = "Ranks",
     DQ_INTO(tucker_options, never_slower),
     .help = "leave alone what is not measured to become faster here; needs --save-ranks",
     .details = "Every layer is timed beside its factors on this machine and with these threads; a "
                "bound of --macs is then shared out among the layers that become faster. The clock "
                "may decide otherwise on another run: --ranks with the file that --save-ranks wrote "
                "gives the same bytes again."},
    {.name = "save-ranks", .type = DQ_OPTION_FILE, .group = "Ranks",
     DQ_INTO(tucker_options, save_ranks), .help = "write the ranks chosen, for --ranks"},
    {.name = "retrain", .type = DQ_OPTION_STRING, .value = "CMD", .group = "Retraining",
     DQ_INTO(tucker_options, retrain),
     .help = "run this command on the decomposed model and take what it writes",
     .details = "It is run by the shell with DQ_MODEL (the decomposed model), DQ_ORIGINAL, DQ_OUTPUT "
                "(what it must write), DQ_DATA and DQ_SPEC (JSON: layers, ranks, factors) set, for "
                "--time-limit at most. What it wrote is taken when it loads, has the same inputs, "
                "outputs and factors, is finite and runs; else the decomposed model stays and the "
                "exit status is 1."},
    {.name = "every", .type = DQ_OPTION_INT, .value = "K", .minimum = 1, .maximum = 1e6,
     .group = "Retraining", DQ_INTO(tucker_options, every),
     .help = "decompose K layers, retrain, and so on, instead of all at once",
     .details = "Ranks are chosen for all layers first. Each step starts from what the command wrote "
                "in the step before; when one fails, the output holds the steps until then."},
    {.name = "shape", .type = DQ_OPTION_LIST, .value = "NAME=N,C,H,W",
     DQ_INTO(tucker_options, shapes),
     .help = "size of an input the model leaves open, to count multiply-accumulates"},
};

static const dq_column layer_columns[] = {
    {.key = "layer", .title = "layer", .type = DQ_COLUMN_TEXT},
    {.key = "kernel", .title = "kernel", .type = DQ_COLUMN_TEXT},
    {.key = "rank_out", .title = "rank out", .type = DQ_COLUMN_INT},
    {.key = "rank_in", .title = "in", .type = DQ_COLUMN_INT},
    {.key = "energy_out", .title = "energy out", .type = DQ_COLUMN_REAL, .decimals = 4},
    {.key = "energy_in", .title = "in", .type = DQ_COLUMN_REAL, .decimals = 4},
    {.key = "error", .title = "error", .type = DQ_COLUMN_SIGNIFICANT, .decimals = 4},
    {.key = "response_error", .title = "of answers", .type = DQ_COLUMN_SIGNIFICANT, .decimals = 4},
    {.key = "macs_before", .title = "MACs", .type = DQ_COLUMN_COUNT},
    {.key = "macs_after", .title = "after", .type = DQ_COLUMN_COUNT},
    {.key = "parameters_before", .title = "parameters", .type = DQ_COLUMN_COUNT},
    {.key = "parameters_after", .title = "after", .type = DQ_COLUMN_COUNT},
    {.key = "ms_before", .title = "ms", .type = DQ_COLUMN_REAL, .decimals = 4},
    {.key = "ms_after", .title = "after", .type = DQ_COLUMN_REAL, .decimals = 4},
    {.key = "reason", .title = "left alone", .type = DQ_COLUMN_TEXT, .width = 60},
};
static const dq_table_layout layer_table = {
    .key = "layers",
    .columns = layer_columns,
    .column_count = (int)(sizeof layer_columns / sizeof *layer_columns),
};

static void put_costs(dq_table *table, bool macs_known, const dq_conv_cost *before,
                      const dq_conv_cost *after) {
  if (macs_known) {
    dq_table_put_int(table, "macs_before", before->macs);
    dq_table_put_int(table, "macs_after", after->macs);
  }
  dq_table_put_int(table, "parameters_before", before->parameters);
  dq_table_put_int(table, "parameters_after", after->parameters);
}

static void put_layer(dq_table *table, const dq_tucker_layer *layer, bool on_data) {
  dq_table_row(table);
  dq_table_put_text(table, "layer", layer->name);
  if (layer->dims[0])
    dq_table_put_format(table, "kernel", "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64,
                        layer->dims[0], layer->dims[1], layer->dims[2], layer->dims[3]);
  if (layer->dims[0])
    put_costs(table, layer->macs_known, &layer->before, &layer->after);
  if (layer->time_before > 0) {
    dq_table_put_real(table, "ms_before", 1e3 * layer->time_before);
    dq_table_put_real(table, "ms_after", 1e3 * layer->time_after);
  }
  dq_table_put_text(table, "reason", layer->reason);
  if (layer->reason[0]) return;
  dq_table_put_int(table, "rank_out", layer->ranks.out);
  dq_table_put_int(table, "rank_in", layer->ranks.in);
  dq_table_put_real(table, "energy_out", layer->energy_out);
  dq_table_put_real(table, "energy_in", layer->energy_in);
  dq_table_put_real(table, "error", layer->error);
  if (on_data) dq_table_put_real(table, "response_error", layer->response_error);
}

static double percent_more(int64_t before, int64_t after) {
  return before > 0 ? 100.0 * (double)(after - before) / (double)before : 0;
}

static void fill_report(dq_report *facts, const dq_tucker_report *report, bool on_data,
                        bool gemm) {
  dq_table *table = dq_report_table(facts, &layer_table);
  for (int i = 0; i < report->count; i++) put_layer(table, &report->layers[i], on_data);
  const dq_conv_cost *before = &report->model_before, *after = &report->model_after;
  dq_table_total_row(table);
  dq_table_put_text(table, "layer", "whole model");
  put_costs(table, report->macs_known, before, after);
  dq_report_note(facts, "%d of %d %s decomposed; parameters %+.1f %%",
                 report->decomposed, report->count, gemm ? "layers" : "convolutions",
                 percent_more(before->parameters, after->parameters));
  if (report->macs_known)
    dq_report_note(facts, "multiply-accumulates %+.1f %%",
                   percent_more(before->macs, after->macs));
}

static dq_status tell(const tucker_options *options, const dq_tucker_report *report,
                      dq_error *error) {
  char title[512];
  snprintf(title, sizeof title, "Tucker-2 decomposition of %s", options->common.operands[0]);
  dq_report *facts = dq_report_new("dq-tucker", 1, title);
  fill_report(facts, report, options->data.data && !options->plain, options->gemm);
  dq_status status = dq_command_report(&options->common, facts, error);
  dq_report_free(facts);
  return status;
}

static dq_status read_settings(const tucker_options *options, dq_arena *arena,
                               dq_tucker_options *settings, dq_shape_request *request,
                               dq_error *error) {
  settings->rule = DQ_RANK_RATIO;
  settings->parameter = options->ratio;
  if (dq_option_given(options, "energy"))
    settings->rule = DQ_RANK_ENERGY, settings->parameter = options->energy;
  if (options->vbmf) settings->rule = DQ_RANK_VBMF, settings->parameter = options->weaken;
  if (dq_option_given(options, "macs")) settings->macs_share = 1 + options->macs / 100;
  settings->multiple = options->multiple;
  settings->force = options->output.force;
  settings->plain = options->plain;
  settings->refine = options->refine;
  settings->matrices = options->gemm;
  settings->never_slower = options->never_slower && !options->output.force;
  int count = options->shapes.count;
  dq_input_shape *shapes = DQ_NEW_ARRAY(arena, count, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, (size_t)count * sizeof *shapes);
  for (int i = 0; i < count; i++)
    DQ_TRY(dq_input_shape_parse(options->shapes.items[i], arena, &shapes[i], error));
  *request = (dq_shape_request){.inputs = shapes, .input_count = count};
  if (count) settings->shapes = request;
  if (!options->ranks) return DQ_OK;
  dq_layer_ranks *layers = NULL;
  DQ_TRY(dq_ranks_load(options->ranks, arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

// The hook, on the model that was written: a failed one leaves that.
static dq_status retrain(const tucker_options *options, const dq_graph *graph,
                         const dq_tucker_report *report, const dq_shape_request *shapes,
                         dq_arena *arena, const dq_context *context, dq_error *error) {
  if (!options->retrain || !report->decomposed) return DQ_OK;
  const char *path = options->output.output;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data.data,
                             .time_limit = options->common.time_limit,
                             .shapes = shapes};
  DQ_TRY(dq_tucker_spec(report, arena, &hook.spec, error));
  DQ_TRY(dq_tucker_nodes(report, arena, &hook.nodes, &hook.node_count, error));
  return dq_hook_run(graph, path, &hook, "the decomposed model", context, error);
}

// Usage that the table of options cannot tell, before any work.
static dq_status check(const void *parsed, dq_error *error) {
  const tucker_options *options = parsed;
  if (dq_option_given(options, "max-drop") && (!strcmp(options->output.output, "-") ||
                                               !strcmp(options->common.operands[0], "-")))
    return dq_fail(error, DQ_USAGE, "--max-drop needs files to read and to write, not '-'");
  return dq_hook_check(options->retrain, options->common.operands[0], options->output.output, error);
}

static dq_status write_model(const tucker_options *options, const dq_graph *graph,
                             const dq_tucker_report *report, const dq_context *context,
                             dq_error *error) {
  const char *path = options->output.output;
  DQ_TRY(dq_onnx_save(graph, path, error));
  DQ_TRY(dq_verify_model(path, context, error));
  return options->save_ranks ? dq_ranks_save(options->save_ranks, report, error) : DQ_OK;
}

// ---- --max-drop ----

typedef struct trials {
  const tucker_options *options;
  dq_tucker_options settings;
  dq_accuracy_options accuracy;
  dq_data *eval;
  const dq_context *context;
  dq_result before;
  dq_graph *last, *best; // of the last trial, of the best one
  dq_tucker_report last_report, best_report;
} trials;

static dq_status attempt(void *user, dq_search_trial *trial, dq_error *error) {
  trials *t = user;
  dq_graph_free(t->last);
  t->last = NULL;
  DQ_TRY(dq_onnx_load(&t->last, t->options->common.operands[0], t->context, error));
  dq_result after;
  dq_error local = {0};
  t->settings.macs_share = 1 - trial->percent / 100.0;
  dq_status status = dq_tucker_apply(t->last, &t->settings, &t->last_report, &local);
  if (status == DQ_USAGE) return DQ_OK; // no ranks go so far
  if (status == DQ_OK)
    status = dq_accuracy_run(&after, t->last, t->eval, &t->accuracy, t->context, &local);
  if (status != DQ_OK) {
    if (error) *error = local;
    return status;
  }
  trial->possible = true;
  trial->drop = (t->before.figures[0].value - after.figures[0].value) * t->before.points;
  return DQ_OK;
}

static dq_status keep(void *user, const dq_search_trial *trial, dq_error *error) {
  (void)trial;
  trials *t = user;
  dq_graph_free(t->best);
  t->best = t->last, t->best_report = t->last_report;
  t->last = NULL;
  return write_model(t->options, t->best, &t->best_report, t->context, error);
}

// The best model of an earlier run is made again; without any, the original is written.
static dq_status recall(trials *t, const dq_search_result *result, dq_error *error) {
  if (t->best) return DQ_OK;
  dq_search_trial trial = {.percent = result->percent};
  if (result->percent) DQ_TRY(attempt(t, &trial, error));
  else DQ_TRY(dq_onnx_load(&t->last, t->options->common.operands[0], t->context, error));
  return keep(t, &trial, error);
}

static dq_status run_search(trials *t, const dq_graph *graph, dq_arena *arena, dq_error *error) {
  const tucker_options *options = t->options;
  DQ_TRY(dq_accuracy_run(&t->before, graph, t->eval, &t->accuracy, t->context, error));
  if (!t->before.count)
    return dq_fail(error, DQ_USAGE, "--max-drop needs labelled pictures, give --eval");
  t->accuracy.task = t->before.task;
  dq_search_options search = {
      .max_drop = options->max_drop,
      .time_limit = options->common.time_limit,
      .state = dq_arena_printf(arena, "%s.search", options->output.output),
      .key = dq_arena_printf(arena, "%016llx %s %" PRId64 " %s %" PRId64 " %" PRId64 " %d %d",
                             (unsigned long long)dq_origin_hash(graph), options->data.data,
                             options->data.limit, options->eval ? options->eval : "",
                             options->eval_limit, options->multiple, options->refine,
                             options->plain),
      .resume = options->resume,
      .attempt = attempt,
      .keep = keep,
      .user = t,
      .context = t->context};
  if (!search.state || !search.key) return dq_fail_memory(error, sizeof search);
  dq_search_result result;
  DQ_TRY(dq_search(&search, &result, error));
  DQ_TRY(recall(t, &result, error));
  DQ_TRY(tell(options, &t->best_report, error));
  dq_message(t->context, DQ_NOTE, "%s %.2f, %d %% fewer multiply-accumulates cost %.2f points",
             t->before.figures[0].name, t->before.figures[0].value, result.percent, result.drop);
  if (!result.complete)
    dq_message(t->context, DQ_WARNING, "the time was over after %d trials; --resume goes on",
               result.trials);
  return DQ_OK;
}

static dq_status search(const tucker_options *options, const dq_tucker_options *settings,
                        const dq_graph *graph, const dq_data_arguments *arguments, dq_arena *arena,
                        const dq_context *context, dq_error *error) {
  trials t = {.options = options, .settings = *settings, .context = context};
  dq_data_arguments eval = *arguments;
  if (options->eval) eval.data = options->eval, eval.limit = options->eval_limit;
  if (settings->shapes) t.accuracy.shapes = *settings->shapes;
  t.accuracy.decode = arguments->decode;
  dq_status status = dq_open_data(&t.eval, &eval, options->common.seed, context, error);
  if (status == DQ_OK) status = run_search(&t, graph, arena, error);
  dq_graph_free(t.last);
  dq_graph_free(t.best);
  dq_data_free(t.eval);
  return status;
}

// ---- --every ----

// One step: these layers of the model at `from` are decomposed, written and retrained.
static dq_status take_step(const tucker_options *options, const dq_tucker_options *settings,
                           const char *from, dq_arena *arena, const dq_context *context,
                           dq_error *error) {
  dq_graph *graph = NULL;
  dq_tucker_report report;
  DQ_TRY(dq_onnx_load(&graph, from, context, error));
  dq_status status = dq_tucker_apply(graph, settings, &report, error);
  if (status == DQ_OK) status = dq_onnx_save(graph, options->output.output, error);
  if (status == DQ_OK)
    status = retrain(options, graph, &report, settings->shapes, arena, context, error);
  dq_graph_free(graph);
  return status;
}

// The layers that `report` decomposed, some at a time, the first from the original.
static dq_status take_steps(const tucker_options *options, const dq_tucker_options *settings,
                            const dq_tucker_report *report, dq_arena *arena,
                            const dq_context *context, dq_error *error) {
  dq_layer_ranks *layers = DQ_NEW_ARRAY(arena, report->count + 1, dq_layer_ranks);
  if (!layers) return dq_fail_memory(error, (size_t)report->count * sizeof *layers);
  int count = 0, every = (int)options->every;
  for (int i = 0; i < report->count; i++)
    if (!report->layers[i].reason[0])
      layers[count++] = (dq_layer_ranks){report->layers[i].name, report->layers[i].ranks};
  dq_tucker_options step = *settings;
  step.macs_share = 0;
  step.never_slower = false;
  for (int first = 0; first < count; first += every) {
    step.layers = layers + first;
    step.layer_count = count - first < every ? count - first : every;
    dq_message(context, DQ_NOTE, "layers %d to %d of %d", first + 1, first + step.layer_count,
               count);
    const char *from = first ? options->output.output : options->common.operands[0];
    DQ_TRY(take_step(options, &step, from, arena, context, error));
  }
  return DQ_OK;
}

static dq_status decompose(const tucker_options *options, dq_graph *graph, dq_data *data,
                           const dq_data_arguments *arguments, dq_arena *arena,
                           const dq_context *context, dq_error *error) {
  dq_tucker_options settings = {.context = context, .data = data};
  dq_shape_request request;
  dq_tucker_report report;
  DQ_TRY(read_settings(options, arena, &settings, &request, error));
  const char *model = options->common.operands[0];
  if (dq_option_given(options, "max-drop"))
    return search(options, &settings, graph, arguments, arena, context, error);
  dq_status status = dq_tucker_apply(graph, &settings, &report, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(write_model(options, graph, &report, context, error));
  DQ_TRY(tell(options, &report, error));
  if (!report.decomposed) dq_message(context, DQ_WARNING, "nothing was decomposed");
  if (options->every) return take_steps(options, &settings, &report, arena, context, error);
  return retrain(options, graph, &report, settings.shapes, arena, context, error);
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const tucker_options *options = parsed;
  dq_graph *graph = NULL;
  dq_data *data = NULL;
  DQ_TRY(dq_onnx_load(&graph, options->common.operands[0], context, error));
  dq_arena *arena = dq_arena_new(0);
  dq_status status = arena ? DQ_OK : dq_fail_memory(error, sizeof(dq_arena *));
  dq_data_arguments arguments = options->data;
  dq_remembered_preset(&arguments, graph, context);
  if (status == DQ_OK && arguments.data && !options->plain)
    status = dq_open_data(&data, &arguments, options->common.seed, context, error);
  if (status == DQ_OK) status = decompose(options, graph, data, &arguments, arena, context, error);
  dq_data_free(data);
  dq_arena_free(arena);
  dq_graph_free(graph);
  return status;
}

static const dq_command command = {
    .name = "dq-tucker",
    .summary = "makes convolutions cheaper by Tucker-2 decomposition",
    .usage = "MODEL -o OUT (--ratio R | --energy E | --vbmf | --macs -P% | --max-drop D | --ranks FILE) [options]",
    .description =
        "Every convolution with a kernel larger than 1x1 becomes three: 1x1 to fewer channels, the "
        "kernel between those, 1x1 back to the output's channels. The factors are the leading left "
        "singular vectors of the weight's unfoldings (higher-order SVD). Depthwise and 1x1 "
        "convolutions are left alone, and so is every layer that would not get cheaper, unless "
        "--force is given.\n\n"
        "With --data the factors are fitted instead, layer after layer, to the answers that the "
        "original gives on these pictures: some hundred pictures without labels are enough, and "
        "far more accuracy is kept.\n\n"
        "The table tells, per layer, the ranks, the share of squared singular values kept per mode, "
        "the relative error of the weight, with --data the share of the answers' variance that is "
        "missed, multiply-accumulates and parameters before and after, or why the layer was left "
        "alone. Without data and without retraining, accuracy falls quickly.",
    .examples = "# keep half of each mode's rank\n"
                "dq-tucker model.onnx -o small.onnx --ratio 0.5\n"
                "# keep 90 % of the energy, at ranks that kernels like\n"
                "dq-tucker model.onnx -o small.onnx --energy 0.9 --multiple 8\n"
                "# 40 % less work, fitted to pictures\n"
                "dq-tucker model.onnx -o small.onnx --macs -40% --data pictures/ --preset imagenet\n"
                "# as little work as one point of accuracy allows, within an hour\n"
                "dq-tucker model.onnx -o small.onnx --max-drop 1 --data calib/ --eval labelled.txt \\\n"
                "    --time-limit 1h\n"
                "# half of the work, then retrained\n"
                "dq-tucker model.onnx -o small.onnx --macs -50% --retrain 'python3 train.py'",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_OUTPUT | DQ_WITH_REPORT,
    .data_offset = offsetof(tucker_options, data),
    .report_offset = offsetof(tucker_options, report),
    .output_offset = offsetof(tucker_options, output),
    .rules = {{DQ_RULE_REQUIRED, "output"}, {DQ_RULE_ONE_OF, "ratio energy macs max-drop ranks vbmf"},
              {DQ_RULE_NEEDS, "weaken vbmf"},
              {DQ_RULE_NEEDS, "never-slower save-ranks"},
              {DQ_RULE_NEEDS, "max-drop data"},
              {DQ_RULE_NEEDS, "resume max-drop"},
              {DQ_RULE_NEEDS, "every retrain"},
              {DQ_RULE_NEEDS, "eval max-drop"},
              {DQ_RULE_NEEDS, "eval-limit eval"},
              {DQ_RULE_AT_MOST_ONE, "max-drop retrain"},
              {DQ_RULE_AT_MOST_ONE, "never-slower ranks"}},
    .options_size = sizeof(tucker_options),
    .check = check,
    .run = run,
};

int main(int argc, char **argv) { return dq_command_main(argc, argv, &command); }
