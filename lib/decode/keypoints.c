// Keypoints of a candidate, wherever a head has them.
#include <stdio.h>

#include "lib/decode/head.h"

enum { MOST_KEYPOINTS = 1000 };

void dq_keypoint_shape(dq_decoder *decoder, const dq_decode_options *options) {
  int count = 17, numbers = 3;
  const char *text = options->metadata.kpt_shape;
  if (text && (sscanf(text, " [ %d , %d", &count, &numbers) != 2 || count < 1 || count > MOST_KEYPOINTS))
    count = 17, numbers = 3;
  decoder->keypoints = count;
  decoder->keypoint_numbers = numbers == 2 ? 2 : 3;
}

void dq_relative_keypoints(const dq_decoder *decoder, int64_t index, const dq_candidates *to) {
  if (!to->extras || !decoder->keypoints) return;
  double *at = to->extras + index * decoder->extras + decoder->rotated;
  for (int64_t k = 0; k < decoder->keypoints; k++, at += decoder->keypoint_numbers) {
    at[0] /= (double)decoder->input_width;
    at[1] /= (double)decoder->input_height;
  }
}
