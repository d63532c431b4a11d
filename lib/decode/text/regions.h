// Regions of text in a map of probabilities, by the rules of differentiable binarization (Liao et al., "Real-time Scene
// Text Detection with Differentiable Binarization", AAAI 2020) as PaddleOCR has them.
#ifndef DQ_DECODE_TEXT_REGIONS_H
#define DQ_DECODE_TEXT_REGIONS_H

#include "lib/base/context.h"
#include "lib/base/tensor.h"

// A map of one picture.
typedef struct dq_score_map {
  const float *values; // [height][width]: probabilities of text; NaN and infinity count as 0
  int64_t height, width;
  float *owned; // what dq_score_map_close frees
} dq_score_map;

// Picture `item` (along dimension 0) of an output Nx1xHxW, NxHxWx1 or NxHxW of a type that is computed with. float32
// stays where it is, and the output must outlive the map. DQ_BAD_INPUT: the output has another form, or no such
// picture.
dq_status dq_score_map_open(dq_score_map *map, const dq_tensor *output, int64_t item, const dq_context *context,
                            dq_error *error);
void dq_score_map_close(dq_score_map *map); // a zeroed struct is allowed

typedef struct dq_region_options {
  double threshold;     // a cell above it belongs to a region
  double box_threshold; // the least score of a region
  double unclip_ratio;  // a rectangle grows on all sides by its area times this, divided by its perimeter; 0 or more
  double smallest_side; // a rectangle of a shorter side, in cells, is none; grown ones have 2 more at least
  int64_t most_regions; // the search ends with this number of regions, from the top
  bool dilate;          // regions grow by a cell to the right and downwards first
} dq_region_options;

// What rapidocr-onnxruntime 1.4.4 sets for PP-OCRv4, which suits v5 and v6 as well. PaddleOCR itself, and packages for
// PP-OCRv5 and v6, ask for a box_threshold of 0.6 and grow by 1.5.
#define DQ_REGION_DEFAULTS ((dq_region_options){0.3, 0.5, 1.6, 3, 1000, true})

// A rectangle, cut off at the borders of the map.
typedef struct dq_region {
  // Corners clockwise, x and y relative to the map, 0 to 1: the centre of the cell in column c lies at c / width. Of
  // the two corners on the left the upper one comes first.
  double corners[4][2];
  double score; // mean of the map in the rectangle before it grows
} dq_region;

typedef struct dq_regions {
  dq_region *items; // [count], owned
  int64_t count;
} dq_regions;

// Finds the regions of a map, in the order of their highest rows. Takes time and memory in proportion to the cells; 9
// bytes for a cell, which count against the context (NULL: no limit). The caller calls dq_regions_deinit, also after a
// failure. DQ_BAD_INPUT: a side of the map is below 1 or above 2^20; DQ_SYSTEM: there is no memory.
dq_status dq_regions_find(dq_regions *regions, const dq_score_map *map, const dq_region_options *options,
                          const dq_context *context, dq_error *error);
void dq_regions_deinit(dq_regions *regions); // a zeroed struct is allowed

// Sorts regions as they are read: rows from top to bottom, in a row from left to right, by the first corners. Regions
// whose first corners differ in height by less than `tolerance` (relative to the map) are in one row; PaddleOCR takes
// 10 pixels of the picture.
void dq_regions_sort(dq_regions *regions, double tolerance);

#endif
