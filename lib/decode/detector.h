// The detections of one picture after the other.
#ifndef DQ_DECODE_DETECTOR_H
#define DQ_DECODE_DETECTOR_H

#include "lib/base/context.h"
#include "lib/decode/decode.h"

enum { DQ_MOST_OF_CLASS = 1000 }; // detections of a class in a picture: those with the highest scores

typedef struct dq_detection {
  dq_box box; // coordinates from 0 to 1 relative to the input of the model
  double score;
  int64_t label;     // class
  int64_t candidate; // of dq_candidates, whose extras are those of the detection
} dq_detection;

typedef struct dq_detector {
  dq_decoder decoder;
  const dq_context *context;
  dq_candidates candidates; // of the last picture
  int64_t candidate_count, candidate_room;
  bool best_class;     // set by the caller: a candidate is found with the class of its highest score alone
  dq_detection *found; // of the last picture
  int64_t count;
  // What suppression works on, of one class: boxes above the bound, their scores and candidates, and those that
  // suppression leaves.
  dq_box *near;
  dq_rotated_box *near_rotated; // of a decoder of rotated boxes; else NULL
  double *near_scores;
  int64_t *near_candidates, *kept;
  int64_t room; // of found
} dq_detector;

// Opens the decoder and allocates its arrays, within the limit of the context, which must outlive the detector (NULL:
// none). The caller closes the detector, also after a failure. Statuses as for dq_decoder_init.
dq_status dq_detector_open(dq_detector *detector, const dq_decode_options *options, const dq_context *context,
                           dq_error *error);
void dq_detector_close(dq_detector *detector); // a zeroed struct is allowed

// Decodes picture `item` into detector->candidates. Statuses as for dq_decode.
dq_status dq_detector_decode(dq_detector *detector, const dq_tensor *const *outputs, int64_t item, dq_error *error);
// Finds the candidates with scores above `lowest`: class by class in ascending order, each by descending scores. Of a
// class only those stay that overlap none of a higher score by more than `overlap` (dq_nms, dq_nms_rotated), unless the
// network has suppressed them itself, and no more than DQ_MOST_OF_CLASS. DQ_SYSTEM: there is no memory.
dq_status dq_detector_select(dq_detector *detector, double lowest, double overlap, dq_error *error);
// Does both.
dq_status dq_detect(dq_detector *detector, const dq_tensor *const *outputs, int64_t item, double lowest, double overlap,
                    dq_error *error);

#endif
