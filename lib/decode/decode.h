// Reads boxes and scores, and what belongs to a box, from the outputs of a detector. Each form of outputs is a head
// (heads.def).
#ifndef DQ_DECODE_DECODE_H
#define DQ_DECODE_DECODE_H

#include "lib/base/status.h"
#include "lib/base/tensor.h"
#include "lib/decode/boxes.h"

#define DQ_LOWEST_SCORE 0.005 // a score must be above this to count as a detection

// What the properties of a model's metadata say of its outputs; NULL: it has no such property.
typedef struct dq_metadata {
  const char *decode;    // JSON: anchors of YOLO heads
  const char *task;      // of Ultralytics' exports: "detect", "segment", "pose", "obb", "classify"
  const char *head;      // of Ultralytics' exports: the class of the head, "Detect", "RTDETRDecoder"
  const char *names;     // of classes: "{0: 'person', 1: 'bicycle'}", or a JSON array or object
  const char *kpt_shape; // of keypoints: "[17, 3]"
  const char *character; // of text recognizers: the characters, one in each line
} dq_metadata;

typedef struct dq_decode_options {
  // "yolo", "yolo:classes=80,anchors=10x14:23x27/81x82:...[,scale=1.05]" (heads in the order of the outputs, '/'
  // between heads), or the name of another head; NULL: as the metadata and the shapes of the outputs say.
  const char *decode;
  dq_metadata metadata;
  int output_count;
  const dq_tensor *outputs; // types and shapes without elements, rank -1 where the shape depends on elements; pictures
                            // are along dimension 0
  const char *const *output_names;   // NULL: not known, which `yolo` does not take
  int64_t input_height, input_width; // of the model
} dq_decode_options;

enum { DQ_MOST_LABELS = 1 << 20 }; // classes of a list of boxes
enum { DQ_MOST_ROLES = 16 };       // outputs that a head reads

typedef struct dq_decoder {
  const struct dq_head *head;
  int64_t input_height, input_width;
  int64_t classes;    // 0: a list of boxes whose classes nothing counts
  int64_t candidates; // boxes for a picture, before any suppression; 0 where `variable`
  bool listed;        // each candidate has one class and one score; else a score for each class
  bool suppressed;    // boxes that overlap are no longer there
  bool one_class;     // the network's own program takes of a candidate the class with the highest score alone
  bool pooled;   // outputs have no dimension of pictures: elements are those of picture 0, or the head divides them
  bool variable; // the number of candidates is another for each picture: dq_decoder_count
  // Numbers of a candidate beside its box and scores: first the angle of a rotated box in radians, clockwise on the
  // picture, then keypoints (x and y from 0 to 1 relative to the input, then with keypoint_numbers = 3 a score from
  // 0 to 1), then coefficients of a mask.
  int64_t extras;
  bool rotated;
  int64_t keypoints, keypoint_numbers, coefficients;
  int64_t mask_height, mask_width;  // of each of the `coefficients` planes whose weighted sum is a mask's logits
  int roles;                        // outputs that the head reads
  int output[DQ_MOST_ROLES];        // their indices among the outputs of the model
  int64_t elements[DQ_MOST_ROLES];  // of one picture; of one candidate where `variable`
  struct dq_anchor_head *anchors;   // of YOLO heads: one for each role; owned
  int64_t levels[DQ_MOST_ROLES][2]; // rows and columns of the cells of each level, of heads that have levels
} dq_decoder;

// Arrays of the caller for the candidates of one picture, as many as dq_decoder_count says.
typedef struct dq_candidates {
  dq_box *boxes;   // [candidates]: coordinates from 0 to 1 relative to the input of the model
  double *scores;  // [candidates][classes], of a list [candidates]; NaN where a field of the candidate is not finite
  int64_t *labels; // [candidates] of a list: the class, -1 for an empty row; else NULL is allowed
  double *extras;  // [candidates][extras]; NULL: not wanted
} dq_candidates;

// DQ_USAGE when `decode` does not begin with the name of a head; NULL is allowed. The parameters behind the name are
// not read.
dq_status dq_decoder_check(const char *decode, dq_error *error);

// Chooses the head by options->decode, else the first one of heads.def whose form the outputs have. DQ_USAGE: nothing
// says how to read the outputs, or options->decode is wrong; DQ_BAD_INPUT: the outputs do not have the form of the head
// that was asked for, or a property of the metadata is broken; DQ_SYSTEM: there is no memory.
dq_status dq_decoder_init(dq_decoder *decoder, const dq_decode_options *options, dq_error *error);
void dq_decoder_deinit(dq_decoder *decoder); // a zeroed struct is allowed
// Whether options->decode is given, or the outputs have the form of a head. dq_decoder_init may still fail.
bool dq_decoder_possible(const dq_decode_options *options);
const char *dq_decoder_name(const dq_decoder *decoder); // of the head; static
const char *dq_head_name(int index);                    // names in the order of heads.def; NULL after the last

// Stores in *count the candidates of picture `item`. DQ_BAD_INPUT: the outputs do not have the form of the head.
dq_status dq_decoder_count(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, int64_t *count,
                           dq_error *error);

// Decodes picture `item` (along dimension 0) of the outputs, in the order of the model. DQ_BAD_INPUT: an output has
// another shape than at dq_decoder_init; DQ_SYSTEM: there is no memory.
dq_status dq_decode(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item,
                    const dq_candidates *candidates, dq_error *error);

#endif
