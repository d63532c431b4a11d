// Rules that choose the ranks of a Tucker-2 decomposition: one row in ranks.def and one function in
// a file of its own each.
#ifndef DQ_DECOMP_RANKS_H
#define DQ_DECOMP_RANKS_H

#include "decomp/factor/tucker2.h"

typedef struct dq_ranks {
  int64_t out, in;
} dq_ranks;

// Chooses ranks between 1 and each mode's full rank from the spectra and the rule's parameter; 0 for
// a mode in which the rule finds nothing to keep, whose layer is better left alone.
typedef dq_ranks (*dq_rank_choice)(const dq_hosvd *hosvd, double parameter);

typedef enum dq_rank_rule {
#define DQ_RANK_RULE(symbol, name, choose, unit, zero) DQ_RANK_##symbol,
#include "decomp/ranks/ranks.def"
#undef DQ_RANK_RULE
  DQ_RANK_RULE_COUNT
} dq_rank_rule;

const char *dq_rank_rule_name(dq_rank_rule rule); // "ratio"
bool dq_rank_rule_find(const char *name, dq_rank_rule *rule);

// The parameter lies in (0, 1], or [0, 1] where ranks.def says so; multiple is at least 1: else
// DQ_USAGE.
dq_status dq_rank_check(dq_rank_rule rule, double parameter, int64_t multiple, dq_error *error);

// Ranks by the rule, each then rounded up to a multiple of `multiple` (1: as they are) but not
// above the full rank; 0 stays 0. Fails as dq_rank_check does.
dq_status dq_rank_choose(dq_rank_rule rule, double parameter, int64_t multiple, const dq_hosvd *hosvd, dq_ranks *ranks,
                         dq_error *error);

// The rank of one mode by empirical variational Bayes matrix factorization: singular values of its
// unfolding (mode->size x columns; `group` of them, looked at together) above the noise. May be 0.
int64_t dq_vbmf_rank(const dq_mode *mode, int64_t columns, int64_t group);

#define DQ_RANK_RULE(symbol, name, choose, unit, zero) dq_ranks choose(const dq_hosvd *hosvd, double parameter);
#include "decomp/ranks/ranks.def"
#undef DQ_RANK_RULE

#endif
