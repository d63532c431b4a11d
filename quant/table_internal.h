// The writers behind table_formats.def.
#ifndef DQ_QUANT_TABLE_INTERNAL_H
#define DQ_QUANT_TABLE_INTERNAL_H

#include "quant/table.h"

#define DQ_TABLE_FORMAT(symbol, help)                                                              \
  bool dq_calibration_table_write_##symbol(const dq_calibration_table *table, FILE *to);
#include "quant/table_formats.def"
#undef DQ_TABLE_FORMAT

#endif
