#include "tests/unit/data_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_data_XXXXXX";
dq_error folder_error;
int folder_warnings;
char folder_last_warning[1024];

static void note(void *user, dq_severity severity, const char *text) {
  (void)user;
  if (severity != DQ_WARNING) return;
  folder_warnings++;
  snprintf(folder_last_warning, sizeof folder_last_warning, "%s", text);
}
static const dq_context context = {.message = note};

void folder_put(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}
void folder_put_text(const char *name, const char *text) { folder_put(name, text, strlen(text)); }

int folder_enter(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder)) return -1;
  folder_put("a.ppm", "P6 2 1 255\n\0\0\0\xff\x80\x40", 17);
  folder_put("grey b.pgm", "P5 2 2 255\n\x0a\x14\x1e\x28", 15);
  folder_put_text("broken.jpg", "\xff\xd8\xff\xe0 not a picture");
  folder_put_text("empty.png", "");
  folder_put_text("good.txt", "\xef\xbb\xbf"
                              "a.ppm 3\r\n\r\ngrey b.pgm\t1\r\na.ppm 0");
  // A header that claims 50000x50000 pixels.
  folder_put("bomb.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xc3\x50\0\0\xc3\x50\x08\x02\0\0\0........", 37);
  return 0;
}

int folder_leave(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") || system(command);
}

dq_status folder_open(dq_data **data, dq_data_options options) {
  memset(&folder_error, 0, sizeof folder_error);
  return dq_data_open(data, &options, &context, &folder_error);
}

void folder_refuses(dq_data_options options, dq_status status, const char *part) {
  dq_data *data;
  assert_int_equal(folder_open(&data, options), status);
  assert_null(data);
  if (!strstr(folder_error.message, part)) fail_msg("'%s' does not say '%s'", folder_error.message, part);
}
