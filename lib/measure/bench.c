// Models opened, run in turns, and looked into.
#include "lib/measure/bench.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/measure/cost.h"
#include "lib/measure/feed.h"
#include "lib/schedule/open_sizes.h"
#include "lib/document/origin.h"

static dq_status load_model(dq_bench_model *model, const dq_bench_subject *subject, const dq_context *context,
                            dq_error *error) {
  double start = dq_seconds();
  model->path = subject->path;
  DQ_TRY(dq_model_open(&model->graph, subject->path, context, error));
  model->load_time = dq_seconds() - start;
  return DQ_OK;
}

// What is given is for an input or a node of some model; sizes that one remembers are those of all.
static dq_status check_names(dq_bench_model *models, const dq_bench_subject *subjects, int count,
                             const dq_bench_options *options, dq_arena *arena, dq_error *error) {
  const dq_graph **graphs = DQ_NEW_ARRAY(arena, count, const dq_graph *);
  if (!graphs) return dq_fail_memory(error, (size_t)count * sizeof *graphs);
  for (int m = 0; m < count; m++) graphs[m] = models[m].graph;
  for (int m = 0; m < count * count; m++) DQ_TRY(dq_sizes_share(models[m / count].graph, graphs[m % count], error));
  for (int m = 0; m < count; m++)
    DQ_TRY(dq_conv_settings_check(subjects[m].convolutions, subjects[m].convolution_count, graphs, count, error));
  return dq_input_names(graphs, count, &options->shapes, error);
}

static dq_status open_model(dq_bench_model *model, const dq_bench_subject *subject, const dq_bench_options *options,
                            const dq_context *context, dq_arena *arena, dq_error *error) {
  double loaded = dq_seconds();
  model->options = (dq_session_options){.shapes = options->shapes,
                                        .plain = options->plain,
                                        .convolutions = subject->convolutions,
                                        .convolution_count = subject->convolution_count};
  dq_status status = dq_session_open(&model->session, model->graph, &model->options, context, error);
  model->plan_time = dq_seconds() - loaded;
  if (status == DQ_OK) model->pack_time = dq_plan_packing_time(model->session.plan);
  dq_cost cost;
  if (status == DQ_OK) status = dq_cost_count(&cost, model->graph, &options->shapes, context, arena, error);
  if (status == DQ_OK) status = dq_feed_make(&model->inputs, model->session.plan, context, arena, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", subject->path);
  model->macs = cost.macs_complete ? cost.macs : -1;
  const int64_t rounds = dq_block_rounds(&options->turns);
  model->times = DQ_NEW_ARRAY(arena, rounds, double);
  return model->times ? DQ_OK : dq_fail_memory(error, (size_t)rounds * sizeof(double));
}

static dq_status run_turns(dq_bench_model *models, int count, const dq_bench_options *options, dq_blocks *made,
                           const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_timed_plan *plans = DQ_NEW_ARRAY(arena, count, dq_timed_plan);
  if (!plans) return dq_fail_memory(error, (size_t)count * sizeof *plans);
  for (int m = 0; m < count; m++)
    plans[m] = (dq_timed_plan){.name = models[m].path,
                               .session = &models[m].session,
                               .options = &models[m].options,
                               .inputs = models[m].inputs,
                               .times = models[m].times};
  DQ_TRY(dq_blocks_run(made, plans, count, &options->turns, context, arena, error));
  for (int m = 0; m < count; m++) models[m].first_time = plans[m].first, models[m].least = plans[m].least;
  return DQ_OK;
}

// Multiply-accumulates of the steps: the nodes of the copy that is run.
static dq_status list_layers(dq_bench_model *model, const dq_bench_options *options, const dq_context *context,
                             dq_arena *arena, dq_error *error) {
  dq_cost cost;
  model->layer_count = dq_plan_step_count(model->session.plan);
  model->layers = DQ_NEW_ARRAY(arena, model->layer_count, dq_bench_layer);
  if (!model->layers) return dq_fail_memory(error, 0);
  DQ_TRY(dq_cost_count(&cost, model->session.copy, &options->shapes, context, arena, error));
  for (int s = 0; s < model->layer_count; s++) {
    const dq_node *node = dq_plan_step(model->session.plan, s, NULL);
    dq_bench_layer *layer = &model->layers[s];
    *layer = (dq_bench_layer){.name = node->name,
                              .op_type = node->op_type,
                              .algorithm = dq_plan_step_algorithm(model->session.plan, s),
                              .macs = -1,
                              .bytes = dq_plan_step_bytes(model->session.plan, s),
                              .integer = dq_plan_step_integer(model->session.plan, s)};
    for (int i = 0; i < cost.node_count; i++)
      if (cost.nodes[i].node == node) {
        layer->name = cost.nodes[i].label;
        if (cost.nodes[i].macs_known) layer->macs = cost.nodes[i].macs;
      }
  }
  return DQ_OK;
}

static dq_status time_layers(dq_bench_model *model, int64_t rounds, const dq_context *context, dq_arena *arena,
                             dq_error *error) {
  dq_plan *plan = model->session.plan;
  const int steps = model->layer_count;
  double *times = DQ_NEW_ARRAY(arena, (int64_t)steps * rounds, double);
  if (!times) return dq_fail_memory(error, (size_t)steps * sizeof *times);
  dq_plan_set_timing(plan, true);
  for (int64_t round = 0; round < rounds; round++) {
    DQ_TRY(dq_check_stop(context, error));
    dq_feed(plan, model->inputs);
    DQ_TRY(dq_plan_run(plan, error));
    for (int s = 0; s < steps; s++) {
      int64_t nanoseconds = 0;
      dq_plan_step(plan, s, &nanoseconds);
      times[s * rounds + round] = (double)nanoseconds * 1e-9;
    }
  }
  dq_plan_set_timing(plan, false);
  for (int s = 0; s < steps; s++) {
    dq_spread spread;
    DQ_TRY(dq_spread_of(&spread, times + s * rounds, rounds, error));
    model->layers[s].median = spread.median;
  }
  return DQ_OK;
}

static dq_status record_timeline(dq_bench_model *model, int runs, const dq_context *context, dq_arena *arena,
                                 dq_error *error) {
  DQ_TRY(dq_timeline_open(&model->timeline, context, arena, error));
  for (int run = 0; run < runs; run++) {
    DQ_TRY(dq_check_stop(context, error));
    dq_feed(model->session.plan, model->inputs);
    DQ_TRY(dq_timeline_run(&model->timeline, model->session.plan, context, error));
  }
  return DQ_OK;
}

// What is measured of the steps, in runs of their own.
static dq_status look_inside(dq_bench_model *model, const dq_bench_options *options, int64_t rounds,
                             const dq_context *context, dq_arena *arena, dq_error *error) {
  if (!options->per_layer && !options->timeline_runs) return DQ_OK;
  DQ_TRY(list_layers(model, options, context, arena, error));
  if (options->per_layer) DQ_TRY(time_layers(model, rounds, context, arena, error));
  return options->timeline_runs ? record_timeline(model, options->timeline_runs, context, arena, error) : DQ_OK;
}

dq_status dq_bench_run(dq_bench_model *models, const dq_bench_subject *subjects, int count,
                       const dq_bench_options *options, dq_blocks *made, const dq_context *context, dq_arena *arena,
                       dq_error *error) {
  memset(models, 0, (size_t)count * sizeof *models);
  for (int m = 0; m < count; m++) DQ_TRY(load_model(&models[m], &subjects[m], context, error));
  DQ_TRY(check_names(models, subjects, count, options, arena, error));
  for (int m = 0; m < count; m++) DQ_TRY(open_model(&models[m], &subjects[m], options, context, arena, error));
  DQ_TRY(run_turns(models, count, options, made, context, arena, error));
  for (int m = 0; m < count; m++) {
    dq_status status = look_inside(&models[m], options, made->rounds, context, arena, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s", subjects[m].path);
  }
  return DQ_OK;
}

void dq_bench_close(dq_bench_model *models, int count) {
  for (int m = 0; m < count; m++) {
    dq_session_close(&models[m].session);
    dq_graph_free(models[m].graph);
  }
}
