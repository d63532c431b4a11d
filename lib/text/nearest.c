#include "lib/text/nearest.h"

#include <string.h>

enum { LONGEST = 63 };

static int fold(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A' + 'a';
  return letter == '_' ? '-' : letter;
}

static int smaller(int a, int b) { return a < b ? a : b; }

int dq_name_distance(const char *a, const char *b) {
  int rows = (int)strnlen(a, LONGEST), columns = (int)strnlen(b, LONGEST);
  unsigned char table[LONGEST + 1][LONGEST + 1];
  for (int i = 0; i <= rows; i++) table[i][0] = (unsigned char)i;
  for (int j = 0; j <= columns; j++) table[0][j] = (unsigned char)j;
  for (int i = 1; i <= rows; i++)
    for (int j = 1; j <= columns; j++) {
      int differs = fold(a[i - 1]) != fold(b[j - 1]);
      int best = smaller(table[i - 1][j] + 1, table[i][j - 1] + 1);
      best = smaller(best, table[i - 1][j - 1] + differs);
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
        best = smaller(best, table[i - 2][j - 2] + 1);
      table[i][j] = (unsigned char)best;
    }
  return table[rows][columns];
}

void dq_nearest_offer(dq_nearest *nearest, const char *candidate) {
  if (!candidate || !*nearest->wanted) return;
  int distance = dq_name_distance(nearest->wanted, candidate);
  // More than a third of the letters wrong (at least one may be) is another word, not a mistake.
  int allowed = (int)strnlen(nearest->wanted, LONGEST) / 3;
  if (distance > (allowed > 1 ? allowed : 1)) return;
  if (nearest->name && distance >= nearest->distance) return;
  nearest->name = candidate;
  nearest->distance = distance;
}
