// Encoding through stb_image_write, which does not look whether the memory that it asks for to grow was there: a
// request that cannot be met leaves the encoder by a jump, and what it holds by then is freed from a list.
#include "lib/draw/canvas_png.h"

#include <setjmp.h>
#include <stdalign.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/base/sizes.h"

typedef struct piece piece;
struct piece { // in front of what the encoder gets
  alignas(max_align_t) piece *before;
  piece *behind;
};

// What this thread encodes: the hooks of the encoder have no argument to hand it over by.
typedef struct encoding {
  dq_budget *budget;
  piece *first;   // of the pieces that the encoder holds
  size_t refused; // bytes of the request that could not be met
  jmp_buf out;
} encoding;
static _Thread_local encoding current;

static void *link_piece(piece *added) {
  *added = (piece){NULL, current.first};
  if (current.first) current.first->before = added;
  current.first = added;
  return added + 1;
}

static void unlink_piece(const piece *old) {
  if (old->behind) old->behind->before = old->before;
  if (old->before) old->before->behind = old->behind;
  else current.first = old->behind;
}

_Noreturn static void leave(size_t refused) {
  current.refused = refused;
  longjmp(current.out, 1);
}

static void *piece_alloc(size_t size) {
  piece *made = dq_add_size(size, sizeof(piece), &size) ? dq_budget_alloc(current.budget, size) : NULL;
  if (!made) leave(size);
  return link_piece(made);
}

static void *piece_realloc(void *memory, size_t size) {
  if (!memory) return piece_alloc(size);
  piece *old = (piece *)memory - 1;
  if (!dq_add_size(size, sizeof(piece), &size)) leave(size);
  unlink_piece(old);
  piece *made = dq_budget_realloc(old, size);
  if (made) return link_piece(made);
  link_piece(old);
  leave(size);
}

static void piece_free(void *memory) {
  if (!memory) return;
  piece *old = (piece *)memory - 1;
  unlink_piece(old);
  dq_budget_free(old);
}

#define STBIW_MALLOC(size) piece_alloc(size)
#define STBIW_REALLOC(block, size) piece_realloc(block, size)
#define STBIW_FREE(block) piece_free(block)
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
// The library's own code is not held to this project's warnings; those of functions that are not used here are reported
// at the end of the file.
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image_write.h>

// The bytes of the file, which piece_free frees; NULL: there was no memory.
static uint8_t *encode(const dq_canvas *canvas, int *size) {
  if (!setjmp(current.out))
    return stbi_write_png_to_mem(canvas->pixels, 3 * canvas->width, canvas->width, canvas->height, 3, size);
  while (current.first) piece_free(current.first + 1);
  return NULL;
}

static dq_status write_bytes(const uint8_t *bytes, size_t size, const char *path, dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  fwrite(bytes, 1, size, output.stream); // dq_output_commit reports what went wrong
  return dq_output_commit(&output, error);
}

dq_status dq_canvas_write_png(const dq_canvas *canvas, const char *path, dq_error *error) {
  int size;
  current.budget = canvas->budget, current.first = NULL;
  uint8_t *bytes = encode(canvas, &size);
  if (!bytes) return dq_fail_memory(error, current.refused);
  const dq_status status = write_bytes(bytes, (size_t)size, path, error);
  piece_free(bytes);
  return status;
}
