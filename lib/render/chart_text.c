// Values and coordinates of charts as text.
#include <math.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

static const char *value_text(const dq_chart_layout *layout, double value, char *text, size_t size) {
  switch (layout->type) {
  case DQ_COLUMN_COUNT: return dq_format_count(value, text, size);
  case DQ_COLUMN_BYTES: return dq_format_bytes(value, text, size);
  case DQ_COLUMN_PERCENT: return dq_format_percent(value, layout->decimals, text, size);
  case DQ_COLUMN_SIGNIFICANT: return dq_format_significant(value, layout->decimals, text, size);
  default: return dq_format_fixed(value, layout->decimals, text, size);
  }
}

void dq_chart_print_value(FILE *stream, const dq_chart_layout *layout, double value) {
  char text[64];
  fputs(value_text(layout, value, text, sizeof text), stream);
  if (layout->unit) fprintf(stream, " %s", layout->unit);
}

void dq_chart_print_number(FILE *stream, double value) {
  long hundredths = lround(value * 100);
  fprintf(stream, "%ld", hundredths / 100);
  if (hundredths % 100 % 10) fprintf(stream, ".%02ld", hundredths % 100);
  else if (hundredths % 100) fprintf(stream, ".%ld", hundredths % 100 / 10);
}
