// Rules that choose the ranks of a Tucker-2 decomposition: one row in ranks.def and one function in
// a file of its own each.
#ifndef DQ_DECOMP_RANKS_H
#define DQ_DECOMP_RANKS_H

#include "decomp/tucker2.h"

typedef struct dq_ranks {
  int64_t out, in;
} dq_ranks;

// Chooses ranks between 1 and each mode's full rank from the spectra and the rule's parameter.
typedef dq_ranks (*dq_rank_choice)(const dq_hosvd *hosvd, double parameter);

typedef enum dq_rank_rule {
#define DQ_RANK_RULE(symbol, name, choose, unit) DQ_RANK_##symbol,
#include "decomp/ranks.def"
#undef DQ_RANK_RULE
  DQ_RANK_RULE_COUNT
} dq_rank_rule;

const char *dq_rank_rule_name(dq_rank_rule rule); // "ratio"
bool dq_rank_rule_find(const char *name, dq_rank_rule *rule);

// The parameter of every rule so far lies in (0, 1]; multiple is at least 1: else DQ_USAGE.
dq_status dq_rank_check(dq_rank_rule rule, double parameter, int64_t multiple, dq_error *error);

// Ranks by the rule, each then rounded up to a multiple of `multiple` (1: as they are) but not
// above the full rank. Fails as dq_rank_check does.
dq_status dq_rank_choose(dq_rank_rule rule, double parameter, int64_t multiple,
                         const dq_hosvd *hosvd, dq_ranks *ranks, dq_error *error);

#define DQ_RANK_RULE(symbol, name, choose, unit)                                                   \
  dq_ranks choose(const dq_hosvd *hosvd, double parameter);
#include "decomp/ranks.def"
#undef DQ_RANK_RULE

#endif
