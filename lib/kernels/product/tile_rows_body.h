// A function of its own for every number of rows and one or two vectors of columns, so that all sums stay in
// registers. The including file defines TILE_FUNCTION (the symbol), TILE_ROWS (at most 14) and an inline
// tile(t, rows, vectors).
#define TILE_OF(rows)                                                                                                  \
  static void tile_##rows##_1(const dq_tile *t) { tile(t, rows, 1); }                                                  \
  static void tile_##rows##_2(const dq_tile *t) { tile(t, rows, 2); }
TILE_OF(1)
TILE_OF(2)
TILE_OF(3)
TILE_OF(4)
TILE_OF(5)
TILE_OF(6)
#if TILE_ROWS > 6
TILE_OF(7)
TILE_OF(8)
TILE_OF(9)
TILE_OF(10)
TILE_OF(11)
TILE_OF(12)
#endif
#if TILE_ROWS > 12
TILE_OF(13)
TILE_OF(14)
#endif

#define TILE_PAIR(rows)                                                                                                \
  { tile_##rows##_1, tile_##rows##_2 }
static void (*const tiles[TILE_ROWS][2])(const dq_tile *) = {
    TILE_PAIR(1),  TILE_PAIR(2),  TILE_PAIR(3), TILE_PAIR(4),  TILE_PAIR(5),  TILE_PAIR(6),
#if TILE_ROWS > 6
    TILE_PAIR(7),  TILE_PAIR(8),  TILE_PAIR(9), TILE_PAIR(10), TILE_PAIR(11), TILE_PAIR(12),
#endif
#if TILE_ROWS > 12
    TILE_PAIR(13), TILE_PAIR(14),
#endif
};

void TILE_FUNCTION(const dq_tile *t) { tiles[t->rows - 1][t->columns > V_WORDS](t); }
