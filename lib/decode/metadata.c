#include "lib/decode/metadata.h"

#include "lib/decode/literal.h"

dq_metadata dq_metadata_of(const dq_graph *graph) {
  return (dq_metadata){.decode = dq_graph_property(graph, "decode"),
                       .task = dq_graph_property(graph, "task"),
                       .head = dq_graph_property(graph, "head"),
                       .names = dq_graph_property(graph, "names"),
                       .kpt_shape = dq_graph_property(graph, "kpt_shape"),
                       .character = dq_graph_property(graph, "character")};
}

int64_t dq_name_count(const char *names) {
  int64_t count = 0;
  return names && dq_literal_count(names, &count, NULL) == DQ_OK ? count : 0;
}
