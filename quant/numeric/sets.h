// Sets without common members that are joined as they are found to belong together (union-find).
#ifndef DQ_QUANT_SETS_H
#define DQ_QUANT_SETS_H

// The member that stands for the set of `member`. parents[i] is another member of the set of i, nearer to that one, or
// i where i stands for its set; to join two sets the caller makes the one's member the parent of the other's. Halves
// the way that it takes (R. E. Tarjan, J. van Leeuwen, Worst-case Analysis of Set Union Algorithms, 1984).
static inline int dq_set_of(int *parents, int member) {
  while (parents[member] != member) member = parents[member] = parents[parents[member]];
  return member;
}

#endif
