// Runs the network once on the picture of the image, and prints the five largest scores in the lines of dq-run.
#include "image.h"
#include "net.h"

enum { TOP = 5 };

extern const float picture[INPUT_ELEMENTS];
static float scores[OUTPUT_ELEMENTS];
static _Alignas(NET_ARENA_ALIGNMENT) unsigned char arena[NET_ARENA_BYTES];

// Whether score a stands in front of score b: the larger, of equal ones the first, and NaN last.
static int is_before(int a, int b) {
  float x = scores[a], y = scores[b];
  if ((x != x) != (y != y)) return y != y;
  return x > y || (!(x < y) && a < b);
}

// A text at the right end of a field.
static void put_right(const char *text, int length, int width) {
  while (length++ < width) image_put(" ");
  image_put(text);
}

static void put_score(int number) {
  char text[NUMBER_TEXT];
  int at = NUMBER_TEXT - 1, rest = number;
  text[at] = 0;
  do text[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  image_put("  ");
  put_right(text + at, NUMBER_TEXT - 1 - at, 5);
  image_put("  ");
  put_right(text, number_text(scores[number], text), 12);
  image_put("\n");
}

int main(void) {
  if (net_run(picture, scores, arena)) return 1;
  for (int k = 0, last = -1; k < TOP && k < OUTPUT_ELEMENTS; k++) {
    int best = -1;
    for (int i = 0; i < OUTPUT_ELEMENTS; i++) {
      if (last >= 0 && !is_before(last, i)) continue;
      if (best < 0 || is_before(i, best)) best = i;
    }
    put_score(best);
    last = best;
  }
  return 0;
}
