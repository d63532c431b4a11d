#include "cmd/run_answers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/shared/output_names.h"
#include "datasets/image/image.h"
#include "lib/decode/metadata.h"
#include "lib/document/origin.h"
#include "lib/draw/canvas_beside.h"
#include "lib/draw/canvas_png.h"
#include "lib/report/predictions/predictions_json.h"
#include "lib/report/predictions/predictions_picture.h"
#include "lib/report/predictions/predictions_text.h"
#include "lib/verdict/interval.h"

// ---- Opening ----

dq_run_answers dq_run_answers_new(dq_data *data, const dq_answer_options *options, const dq_context *context,
                                  dq_arena *arena) {
  return (dq_run_answers){.options = options, .context = context, .arena = arena, .data = data};
}

// The output as one picture gives it. Where its shape depends on elements it is the declared one, if that leaves
// nothing but pictures open.
static const dq_tensor *output_alone(const dq_value *output, const dq_tensor *alone, dq_arena *arena) {
  if (alone->rank >= 0 || output->rank < 1 || output->rank > DQ_MAX_RANK) return alone;
  for (int d = 1; d < output->rank; d++)
    if (output->dims[d].size < 1) return alone;
  dq_tensor *declared = DQ_NEW(arena, dq_tensor);
  if (!declared) return NULL;
  *declared = (dq_tensor){.type = alone->type, .rank = output->rank, .dims = {1}};
  for (int d = 1; d < output->rank; d++) declared->dims[d] = output->dims[d].size;
  return declared;
}

static dq_status open_predictor(dq_run_answers *answers, dq_answer_side *side, const dq_graph *graph,
                                const dq_tensor *alone, dq_error *error) {
  const dq_answer_options *options = answers->options;
  const dq_tensor *input = graph->input_count ? &alone[graph->inputs[0]->index] : NULL;
  const bool picture = input && input->rank == 4;
  const int rows = picture && dq_channels_last(4, input->dims) ? 1 : 2;
  const dq_tensor **outputs = DQ_NEW_ARRAY(answers->arena, graph->output_count, const dq_tensor *);
  if (!outputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < graph->output_count; i++) {
    outputs[i] = output_alone(graph->outputs[i], &alone[graph->outputs[i]->index], answers->arena);
    if (!outputs[i]) return dq_fail_memory(error, sizeof *outputs[i]);
  }
  const dq_predict_options predict = {.decode = options->decode,
                                      .score = options->score,
                                      .halved = options->pair,
                                      .overlap = options->overlap,
                                      .top = options->top,
                                      .dictionary = options->dictionary,
                                      .graph = graph,
                                      .outputs = outputs,
                                      .input_height = picture ? input->dims[rows] : 0,
                                      .input_width = picture ? input->dims[rows + 1] : 0};
  return dq_predictor_open(&side->predictor, &predict, answers->context, error);
}

static dq_status copy_names(dq_run_answers *answers, dq_answer_side *side, const dq_graph *graph, dq_error *error) {
  side->output_count = graph->output_count;
  side->output_names = DQ_NEW_ARRAY(answers->arena, graph->output_count, const char *);
  if (!side->output_names) return dq_fail_memory(error, 0);
  for (int i = 0; i < graph->output_count; i++) {
    side->output_names[i] = dq_arena_strdup(answers->arena, graph->outputs[i]->name);
    if (!side->output_names[i]) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

// The names that the data has (--labels, class folders), else those of the model; of objects first those of the model,
// as folders are other classes than a detector's.
static dq_status find_label_names(dq_run_answers *answers, const dq_graph *graph, dq_error *error) {
  const dq_metadata metadata = dq_metadata_of(graph);
  const bool objects = dq_predictor_kind(answers->sides[0].predictor) == DQ_PREDICT_OBJECTS;
  int64_t count = 0;
  while (dq_data_class_name(answers->data, count)) count++;
  if (!count || objects) DQ_TRY(dq_names_of_model(&answers->model_names, &metadata, answers->context, error));
  if (answers->model_names.count) {
    answers->names = (dq_label_names){(const char *const *)answers->model_names.items, answers->model_names.count};
    return DQ_OK;
  }
  const char **items = DQ_NEW_ARRAY(answers->arena, count + 1, const char *);
  if (!items) return dq_fail_memory(error, (size_t)count * sizeof *items);
  for (int64_t i = 0; i < count; i++) items[i] = dq_data_class_name(answers->data, i);
  answers->names = (dq_label_names){items, count};
  return DQ_OK;
}

static void note_form(const dq_run_answers *answers) {
  static const char *const kinds[] = {"", "", "boxes", "classes of points", "a map", "text"};
  const dq_predictor *predictor = answers->sides[0].predictor;
  const dq_prediction_kind kind = dq_predictor_kind(predictor);
  if (answers->options->decode || !*kinds[kind]) return;
  dq_message(answers->context, DQ_NOTE,
             "the outputs are read as %s (%s), as their shapes and the metadata say; --decode changes it", kinds[kind],
             dq_predictor_form(predictor));
}

dq_status dq_run_answers_add(dq_run_answers *answers, const dq_graph *graph, const dq_tensor *alone, dq_error *error) {
  dq_answer_side *side = &answers->sides[answers->side_count++];
  DQ_TRY(copy_names(answers, side, graph, error));
  DQ_TRY(open_predictor(answers, side, graph, alone, error));
  if (answers->side_count > 1) return DQ_OK;
  return find_label_names(answers, graph, error);
}

static dq_status open_recognizer(dq_run_answers *answers, dq_error *error) {
  const dq_answer_options *options = answers->options;
  if (!options->recognize) return DQ_OK;
  if (!dq_data_is_pictures(answers->data))
    return dq_fail(error, DQ_USAGE, "--recognize: the data are arrays, expected pictures");
  if (dq_predictor_kind(answers->sides[0].predictor) != DQ_PREDICT_OBJECTS)
    return dq_fail(error, DQ_USAGE, "--recognize: the model finds no regions of text (--decode text-regions)");
  dq_status status = dq_model_open(&answers->recognizer_graph, options->recognize, answers->context, error);
  if (status == DQ_OK)
    status = dq_recognizer_open(&answers->recognizer, answers->recognizer_graph, options->dictionary, answers->context,
                                error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "--recognize %s", options->recognize);
}

dq_status dq_run_answers_begin(dq_run_answers *answers, dq_error *error) {
  note_form(answers);
  DQ_TRY(open_recognizer(answers, error));
  const dq_answer_options *options = answers->options;
  if (options->draw && !dq_data_is_pictures(answers->data))
    return dq_fail(error, DQ_USAGE, "--draw: the data are arrays, expected pictures");
  if (options->draw) DQ_TRY(dq_make_folder(options->draw, error));
  if (!options->json) return DQ_OK;
  DQ_TRY(dq_output_open(&answers->json, options->json, error));
  fputs("{\"schema\":\"dq-run\",\"version\":1,\"pictures\":[", answers->json.stream);
  return DQ_OK;
}

void dq_run_answers_close(dq_run_answers *answers) {
  for (int i = 0; i < 2; i++) dq_predictor_free(answers->sides[i].predictor);
  dq_changes_deinit(&answers->changes);
  dq_recognizer_free(answers->recognizer);
  dq_graph_free(answers->recognizer_graph);
  dq_names_deinit(&answers->model_names);
  free(answers->answers);
  free(answers->equal);
  dq_output_discard(&answers->json);
  *answers = (dq_run_answers){0};
}

// ---- Drawing ----

enum { SMALLEST_SIDE = 240 }; // pixels; smaller pictures are drawn enlarged, so that labels do not hide them

// DIR/INDEX_NAME.png
static dq_status picture_path(const dq_run_answers *answers, int64_t index, const dq_sample_info *info, char *path,
                              size_t size, dq_error *error) {
  const char *slash = strrchr(info->name, '/'), *name = slash ? slash + 1 : info->name, **file;
  dq_arena *arena = dq_context_arena(answers->context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_status status = dq_output_names(&name, 1, arena, &file, error);
  int length =
      status == DQ_OK ? snprintf(path, size, "%s/%06" PRId64 "_%s.png", answers->options->draw, index, *file) : 0;
  dq_arena_free(arena);
  if (length >= (int)size) return dq_fail(error, DQ_SYSTEM, "%s: the name is too long", answers->options->draw);
  return status;
}

// Reads the picture as RGB, a small one enlarged by a whole number.
static dq_status read_picture(const dq_run_answers *answers, int64_t index, dq_image *image, dq_error *error) {
  DQ_TRY(dq_data_picture(answers->data, index, image, error));
  DQ_TRY(dq_image_to_rgb(image, error));
  const int side = image->width < image->height ? image->width : image->height;
  const int factor = (SMALLEST_SIDE + side - 1) / side;
  if (factor < 2) return DQ_OK;
  dq_image large = {0};
  const dq_resampling size = {.width = (int64_t)factor * image->width, .height = (int64_t)factor * image->height};
  if (size.width > DQ_CANVAS_LARGEST_SIDE || size.height > DQ_CANVAS_LARGEST_SIDE) return DQ_OK;
  DQ_TRY(dq_image_init(&large, (int)size.width, (int)size.height, 3, image->budget, error));
  dq_status status = dq_image_resample(image, &size, &large, error);
  dq_image_deinit(status == DQ_OK ? image : &large);
  if (status == DQ_OK) *image = large;
  return status;
}

// Draws one side on a copy of the picture.
static dq_status draw_side(const dq_run_answers *answers, int side, const dq_image *image, dq_canvas *canvas,
                           dq_error *error) {
  DQ_TRY(dq_canvas_copy(canvas, image->pixels, image->width, image->height, dq_budget_of(answers->context), error));
  const dq_change *changes = answers->changes.of[answers->side_count > 1 ? !side : 0];
  return dq_predictions_draw(canvas, &answers->sides[side].predictions, &answers->names, changes, error);
}

static dq_status draw_pair(const dq_run_answers *answers, const dq_canvas *model, const dq_image *image,
                           const char *path, dq_error *error) {
  static const char *const captions[2] = {"reference", "model"};
  dq_canvas reference = {0}, both = {0};
  dq_status status = draw_side(answers, 1, image, &reference, error);
  if (status == DQ_OK) status = dq_canvas_beside(&both, &reference, model, captions, error);
  if (status == DQ_OK) status = dq_canvas_write_png(&both, path, error);
  dq_canvas_deinit(&both);
  dq_canvas_deinit(&reference);
  return status;
}

static dq_status draw(const dq_run_answers *answers, int64_t index, const dq_sample_info *info, dq_error *error) {
  char path[4096];
  dq_image image = {0};
  dq_canvas model = {0};
  DQ_TRY(picture_path(answers, index, info, path, sizeof path, error));
  dq_status status = read_picture(answers, index, &image, error);
  if (status == DQ_OK) status = draw_side(answers, 0, &image, &model, error);
  if (status == DQ_OK && answers->side_count > 1) status = draw_pair(answers, &model, &image, path, error);
  else if (status == DQ_OK) status = dq_canvas_write_png(&model, path, error);
  dq_canvas_deinit(&model);
  dq_image_deinit(&image);
  return status;
}

// ---- A picture ----

static dq_status write_json(dq_run_answers *answers, const dq_sample_info *info, dq_error *error) {
  dq_predictions_subject subject = {.picture = info->name, .names = &answers->names};
  bool good = true;
  for (int side = 0; side < answers->side_count && good; side++) {
    subject.output_names = answers->sides[side].output_names;
    subject.changes = answers->changes.of[answers->side_count > 1 ? !side : 0];
    if (side) fputs(",\"reference\":", answers->json.stream);
    else fputs(answers->pictures > 1 ? ",\n{\"model\":" : "\n{\"model\":", answers->json.stream);
    good = dq_predictions_json(answers->json.stream, &answers->sides[side].predictions, &subject);
  }
  fputs("}", answers->json.stream);
  return good ? DQ_OK : dq_fail_errno(error, answers->options->json);
}

// Adds the changes of the current picture to the sums.
static dq_status add_changes(dq_run_answers *answers, dq_error *error) {
  const dq_changes *one = &answers->changes;
  dq_changes *all = &answers->all;
  if (answers->pictures == answers->room) {
    const int64_t room = answers->room ? 2 * answers->room : 256;
    int64_t *counts = realloc(answers->answers, (size_t)room * sizeof *counts);
    if (counts) answers->answers = counts;
    int64_t *equal = counts ? realloc(answers->equal, (size_t)room * sizeof *equal) : NULL;
    if (!equal) return dq_fail_memory(error, (size_t)room * sizeof *counts);
    answers->equal = equal, answers->room = room;
  }
  answers->answers[answers->pictures] = one->answers, answers->equal[answers->pictures] = one->equal;
  all->answers += one->answers, all->equal += one->equal;
  all->texts += one->texts, all->equal_texts += one->equal_texts;
  all->masks += one->masks, all->mask_overlap += one->mask_overlap;
  for (int i = 0; i < 2; i++) all->moved[i] += one->moved[i], all->alone[i] += one->alone[i];
  return DQ_OK;
}

static dq_status predict(dq_answer_side *side, const dq_tensor *outputs, const dq_sample_info *info, dq_error *error) {
  const dq_tensor **pointers = malloc(((size_t)side->output_count + 1) * sizeof *pointers);
  if (!pointers) return dq_fail_memory(error, 0);
  for (int i = 0; i < side->output_count; i++) pointers[i] = &outputs[i];
  dq_status status = dq_predict(side->predictor, pointers, 0, info, &side->predictions, error);
  free(pointers);
  return status;
}

// Reads the regions that the networks have found in the picture.
static dq_status recognize(dq_run_answers *answers, int64_t index, dq_error *error) {
  dq_image image = {0};
  dq_status status = dq_data_picture(answers->data, index, &image, error);
  if (status == DQ_OK) status = dq_image_to_rgb(&image, error);
  for (int i = 0; i < answers->side_count && status == DQ_OK; i++)
    if ((status = dq_recognize(answers->recognizer, &image, answers->sides[i].predictor, error)) != DQ_OK)
      dq_error_prefix(error, status, "--recognize %s", answers->options->recognize);
  dq_image_deinit(&image);
  return status;
}

static void print(const dq_run_answers *answers) {
  const dq_answer_side *sides = answers->sides;
  const bool pair = answers->side_count > 1;
  dq_predictions_print(stdout, &sides[0].predictions, &answers->names, answers->changes.of[pair]);
  if (pair) dq_predictions_print_lost(stdout, &sides[1].predictions, &answers->names, answers->changes.of[0]);
}

dq_status dq_run_answers_picture(dq_run_answers *answers, const dq_tensor *const outputs[2], int64_t index,
                                 const dq_sample_info *info, dq_error *error) {
  dq_answer_side *sides = answers->sides;
  for (int i = 0; i < answers->side_count; i++) DQ_TRY(predict(&sides[i], outputs[i], info, error));
  if (answers->recognizer) DQ_TRY(recognize(answers, index, error));
  dq_changes_deinit(&answers->changes);
  if (answers->side_count > 1) {
    DQ_TRY(dq_changes_find(&answers->changes, &sides[1].predictions, &sides[0].predictions,
                           dq_predictor_shown(sides[0].predictor), error));
    DQ_TRY(add_changes(answers, error));
  }
  answers->pictures++;
  if (!dq_run_answers_only_json(answers->options)) print(answers);
  if (answers->options->json) DQ_TRY(write_json(answers, info, error));
  return answers->options->draw ? draw(answers, index, info, error) : DQ_OK;
}

// ---- The end ----

static const char *ending(int64_t count) { return count == 1 ? "" : "s"; }

static void print_summary(const dq_run_answers *answers) {
  static const char *const names[][2] = {{"answer is", "answers are"}, {"class is", "classes are"},
                                         {"object is", "objects are"}, {"point is", "points are"},
                                         {"answer is", "answers are"}, {"line is", "lines are"}};
  const dq_changes *all = &answers->all;
  const dq_prediction_kind kind = dq_predictor_kind(answers->sides[0].predictor);
  if (!all->answers) {
    printf("%" PRId64 " picture%s: no answers that can be compared\n", answers->pictures, ending(answers->pictures));
    return;
  }
  const dq_interval interval = dq_share_interval(answers->equal, answers->answers, answers->pictures);
  printf("%" PRId64 " picture%s: %" PRId64 " of %" PRId64 " %s in both, %.2f %%", answers->pictures,
         ending(answers->pictures), all->equal, all->answers, names[kind][all->answers != 1],
         100 * (double)all->equal / (double)all->answers);
  if (interval.low <= interval.high) printf(" (95 %% interval %.1f to %.1f)", interval.low, interval.high);
  putchar('\n');
  if (kind != DQ_PREDICT_OBJECTS) return;
  printf("of the reference %" PRId64 " vanished and %" PRId64 " moved; of the model %" PRId64 " appeared and %" PRId64
         " moved\n",
         all->alone[0], all->moved[0], all->alone[1], all->moved[1]);
  if (all->texts)
    printf("texts of %" PRId64 " pair%s: %" PRId64 " equal, %.2f %%\n", all->texts, ending(all->texts),
           all->equal_texts, 100 * (double)all->equal_texts / (double)all->texts);
  if (all->masks)
    printf("masks of %" PRId64 " pair%s: mean intersection over union %.4f\n", all->masks, ending(all->masks),
           all->mask_overlap / (double)all->masks);
}

dq_status dq_run_answers_finish(dq_run_answers *answers, dq_error *error) {
  if (answers->side_count > 1 && !dq_run_answers_only_json(answers->options)) print_summary(answers);
  if (!answers->options->json) return DQ_OK;
  fputs("\n]}\n", answers->json.stream);
  return dq_output_commit(&answers->json, error);
}
