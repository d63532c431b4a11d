// The memory of a picture.
#include <string.h>

#include "datasets/image/image.h"
#include "lib/base/sizes.h"

void dq_image_deinit(dq_image *image) {
  dq_budget_free(image->pixels);
  memset(image, 0, sizeof *image);
}

dq_status dq_image_init(dq_image *image, int width, int height, int channels, dq_budget *budget, dq_error *error) {
  size_t bytes;
  *image = (dq_image){0};
  if (width < 1 || height < 1 || !dq_mul_size((size_t)width, (size_t)height, &bytes) ||
      !dq_mul_size(bytes, (size_t)channels, &bytes))
    return dq_fail(error, DQ_BAD_INPUT, "a picture of %dx%d pixels, expected a width and a height of 1 or more", width,
                   height);
  *image = (dq_image){.width = width, .height = height, .channels = channels, .budget = budget};
  image->pixels = dq_budget_alloc(budget, bytes);
  return image->pixels ? DQ_OK : dq_fail_memory(error, bytes);
}
