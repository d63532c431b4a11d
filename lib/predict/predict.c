// The choice of a kind of predictions, and what all kinds share.
#include "lib/predict/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/predict/predictor.h"

static const dq_predictor_functions *const kinds[] = {
#define DQ_PREDICTOR(symbol) &dq_predictor_##symbol,
#include "lib/predict/predictors.def"
#undef DQ_PREDICTOR
};
enum { KINDS = DQ_COUNT(kinds) };

static const double USUAL_OVERLAP = 0.45;
enum { USUAL_TOP = 5 };

static const dq_predictor_functions *find_kind(const char *name) {
  for (int i = 0; i < KINDS; i++)
    if (kinds[i]->name && !strcmp(kinds[i]->name, name)) return kinds[i];
  return NULL;
}

dq_status dq_predict_check(const char *decode, dq_error *error) {
  if (!decode || find_kind(decode)) return DQ_OK;
  dq_status status = dq_decoder_check(decode, error);
  if (status == DQ_OK) return DQ_OK;
  char names[128] = "";
  for (int i = 0; i < KINDS; i++)
    if (kinds[i]->name) snprintf(names + strlen(names), sizeof names - strlen(names), " %s", kinds[i]->name);
  dq_error_hint(error, "kinds of outputs without boxes are%s", names);
  return status;
}

const char *dq_predict_name(int index) {
  for (int i = 0; i < KINDS; i++)
    if (kinds[i]->name && index-- == 0) return kinds[i]->name;
  return dq_head_name(index);
}

// Names the kinds that fit the outputs.
static void hint_fitting(const dq_predict_options *options, dq_error *error) {
  char names[128] = "";
  for (int i = 0; i < KINDS; i++)
    if (kinds[i]->name && kinds[i]->fits(options))
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", kinds[i]->name);
  dq_error_hint(error, "these fit: %s", names);
}

static dq_status choose(dq_predictor *predictor, const dq_predict_options *options, dq_error *error) {
  DQ_TRY(dq_predict_check(options->decode, error));
  const dq_predictor_functions *named = options->decode ? find_kind(options->decode) : NULL;
  if (options->decode && !named) named = &dq_predictor_objects;
  predictor->functions = named;
  for (int i = 0; !predictor->functions; i++) // the last kind fits everything
    if (kinds[i]->fits(options)) predictor->functions = kinds[i];
  if (!named || named == &dq_predictor_objects || named->fits(options)) return DQ_OK;
  char shapes[512] = "", text[DQ_SHAPE_TEXT];
  for (int i = 0; i < options->graph->output_count; i++)
    snprintf(shapes + strlen(shapes), sizeof shapes - strlen(shapes), "%s%s", i ? ", " : "",
             dq_tensor_shape_text(options->outputs[i], text, sizeof text));
  dq_fail(error, DQ_BAD_INPUT, "%s: the outputs are %s, expected %s", named->name, shapes, named->expected);
  hint_fitting(options, error);
  return DQ_BAD_INPUT;
}

static dq_status open_predictor(dq_predictor *predictor, const dq_predict_options *options, dq_error *error) {
  DQ_TRY(choose(predictor, options, error));
  predictor->form = predictor->functions->name;
  const double usual = predictor->functions->usual_score;
  predictor->shown = options->score > 0 ? options->score : usual > 0 ? usual : DQ_USUAL_SCORE;
  predictor->score = options->halved ? predictor->shown / 2 : predictor->shown;
  return predictor->functions->open ? predictor->functions->open(predictor, options, error) : DQ_OK;
}

dq_status dq_predictor_open(dq_predictor **predictor, const dq_predict_options *options, const dq_context *context,
                            dq_error *error) {
  *predictor = NULL;
  dq_predictor *opened = calloc(1, sizeof *opened);
  if (!opened) return dq_fail_memory(error, sizeof *opened);
  *opened = (dq_predictor){.context = context,
                           .overlap = options->overlap > 0 ? options->overlap : USUAL_OVERLAP,
                           .top = options->top > 0 ? options->top : USUAL_TOP,
                           .output_count = options->graph->output_count,
                           .input_height = options->input_height,
                           .input_width = options->input_width};
  dq_status status = open_predictor(opened, options, error);
  if (status == DQ_OK) *predictor = opened;
  else dq_predictor_free(opened);
  return status;
}

void dq_predictor_free(dq_predictor *predictor) {
  if (!predictor) return;
  if (predictor->functions && predictor->functions->close) predictor->functions->close(predictor);
  dq_drop_predictions(predictor);
  free(predictor->objects);
  free((void *)(uintptr_t)predictor->plane.labels);
  free((void *)(uintptr_t)predictor->plane.values);
  free(predictor);
}

dq_prediction_kind dq_predictor_kind(const dq_predictor *predictor) { return predictor->functions->kind; }
const char *dq_predictor_form(const dq_predictor *predictor) { return predictor->form; }
double dq_predictor_shown(const dq_predictor *predictor) { return predictor->shown; }

dq_prediction *dq_add_prediction(dq_predictor *predictor, dq_error *error) {
  if (predictor->object_count == predictor->object_room) {
    const int64_t room = predictor->object_room ? 2 * predictor->object_room : 64;
    dq_prediction *objects = realloc(predictor->objects, (size_t)room * sizeof *objects);
    if (!objects) {
      dq_fail_memory(error, (size_t)room * sizeof *objects);
      return NULL;
    }
    predictor->objects = objects, predictor->object_room = room;
  }
  dq_prediction *object = &predictor->objects[predictor->object_count++];
  *object = (dq_prediction){.label = -1};
  return object;
}

void dq_drop_predictions(dq_predictor *predictor) {
  for (int64_t i = 0; i < predictor->object_count; i++) {
    dq_budget_free((void *)(uintptr_t)predictor->objects[i].mask);
    free((void *)(uintptr_t)predictor->objects[i].points);
    dq_budget_free(predictor->objects[i].text);
  }
  predictor->object_count = 0;
}

static double clip(double value, double most) { return value > 0 ? value < most ? value : most : 0; }

double dq_free_x(const dq_predictions *predictions, double x) {
  return (x - predictions->view.offset_x) * predictions->view.scale_x * (double)predictions->width;
}

double dq_free_y(const dq_predictions *predictions, double y) {
  return (y - predictions->view.offset_y) * predictions->view.scale_y * (double)predictions->height;
}

double dq_place_x(const dq_predictions *predictions, double x) {
  return clip(dq_free_x(predictions, x), (double)predictions->width);
}

double dq_place_y(const dq_predictions *predictions, double y) {
  return clip(dq_free_y(predictions, y), (double)predictions->height);
}

dq_status dq_predict(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                     dq_predictions *predictions, dq_error *error) {
  const bool picture = info->width > 0 && info->height > 0;
  *predictions = (dq_predictions){.kind = predictor->functions->kind,
                                  .form = predictor->form,
                                  .width = picture ? info->width : predictor->input_width,
                                  .height = picture ? info->height : predictor->input_height,
                                  .view = picture ? info->view : (dq_view){.scale_x = 1, .scale_y = 1}};
  dq_drop_predictions(predictor);
  DQ_TRY(predictor->functions->predict(predictor, outputs, item, predictions, error));
  predictions->objects = predictor->objects;
  predictions->count = predictor->object_count;
  predictions->plane = predictor->plane;
  return DQ_OK;
}
