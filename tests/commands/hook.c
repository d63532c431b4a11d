// A retraining hook in C, as small as one can be: writes DQ_MODEL to DQ_OUTPUT with the first element
// of the weight named by its argument changed to 0.5. The weight's bytes stand behind its name, a tag
// and a length of two bytes.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  const char *from = getenv("DQ_MODEL"), *to = getenv("DQ_OUTPUT");
  FILE *input = from ? fopen(from, "rb") : NULL, *output = to ? fopen(to, "wb") : NULL;
  static char bytes[1 << 20];
  if (argc != 2 || !input || !output) return 1;
  size_t size = fread(bytes, 1, sizeof bytes, input), length = strlen(argv[1]);
  char *name = NULL; // the last one is the initializer's
  for (char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), argv[1], length)); at++) name = at;
  if (!name || name + length + 7 > bytes + size) return 1;
  const float half = 0.5f;
  memcpy(name + length + 3, &half, sizeof half);
  if (fwrite(bytes, 1, size, output) != size || fclose(output)) return 1;
  return fclose(input) != 0;
}
