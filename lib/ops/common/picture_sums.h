// Sums over the pictures of a batch of which each process of a job computes a part. Nodes with the attribute
// "processes" add over all processes (dq_mark_picture_sums); what they give is then the same on all processes, and the
// same bits as one process gives, because all sums are taken in the tree of lib/kernels/reference/shards.h.
#ifndef DQ_OPS_PICTURE_SUMS_H
#define DQ_OPS_PICTURE_SUMS_H

#include "lib/ops/table/operator.h"

// The attribute, for the rows of operators that add.
#define DQ_PROCESSES_ATTRIBUTE                                                                                         \
  { "processes", DQ_ATTRIBUTE_INT, false }
enum {
  DQ_SUMS_OF_PROCESSES = 1,  // the node exchanges its sums with other processes
  DQ_BLOCKS_OF_PROCESSES = 2 // output 0 has the blocks of this process in front of its shape; dq.FinishSums adds them
};

// Whether the sums of the node are added over processes.
bool dq_adds_over_processes(const dq_op *op);
bool dq_leaves_blocks(const dq_op *op); // whether output 0 of the node has blocks (DQ_BLOCKS_OF_PROCESSES)

// The functions divide a sum over `rows` rows of this process, the same number for each picture: dq_first_shard returns
// the first shard of the whole sum that this process computes (0 where the node does not add over processes),
// dq_process_blocks the number of blocks (dq_shard_blocks) that it computes.
int64_t dq_first_shard(const dq_op *op, int64_t rows);
int dq_process_blocks(const dq_op *op, int64_t rows);
// Sets the type and shape of output 0 of a node whose sums have the shape dims[rank]: the sums, of the type of input 0,
// or, with DQ_BLOCKS_OF_PROCESSES, the blocks, of `type`. Statuses as dq_op_shape.
dq_status dq_blocks_shape(dq_op *op, int64_t rows, int type, int rank, const int64_t *dims);
// The number of pictures of the whole batch for each one that this process has: all / count of the part, or 1.
double dq_batch_ratio(const dq_op *op);

// Stores in sums[count] the whole sums, from blocks[dq_process_blocks][count] of this process, of `type` float32 or
// float64. All processes call it for the same node. DQ_SYSTEM: there is no memory.
dq_status dq_add_over_processes(const dq_op *op, int64_t rows, int type, const void *blocks, int64_t count, void *sums);

// Marks the nodes of a graph that add over pictures, where `pictures[.]`, by value, holds the inputs that have pictures
// along their first dimension, and receives all other values that have. `tensors`, by value, have the shapes.
// DQ_UNSUPPORTED: a node combines pictures in another way; the message has its label. DQ_SYSTEM: there is no memory.
dq_status dq_mark_picture_sums(dq_graph *graph, const dq_tensor *tensors, int64_t count, bool *pictures,
                               dq_error *error);

#endif
