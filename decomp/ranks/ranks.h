// Rules that choose the ranks of a Tucker-2 decomposition: one row in ranks.def and one function in
// a file of its own each.
#ifndef DQ_DECOMP_RANKS_H
#define DQ_DECOMP_RANKS_H

#include "decomp/factor/tucker2.h"

// The ranks of one group, for the output channels and the input channels.
typedef struct dq_ranks {
  int64_t out, in;
} dq_ranks;

// Chooses ranks from 1 to the full rank of each mode from the singular values and the parameter of the rule; 0 for a
// mode in which the rule finds no singular value to keep, so that the layer should stay as it is.
typedef dq_ranks (*dq_rank_choice)(const dq_hosvd *hosvd, double parameter);

typedef enum dq_rank_rule {
#define DQ_RANK_RULE(symbol, name, choose, unit, zero) DQ_RANK_##symbol,
#include "decomp/ranks/ranks.def"
#undef DQ_RANK_RULE
  DQ_RANK_RULE_COUNT
} dq_rank_rule;

// The name of a rule as ranks.def has it, such as "ratio", static. `rule` is below DQ_RANK_RULE_COUNT.
const char *dq_rank_rule_name(dq_rank_rule rule);
// Stores the rule of that name in *rule. False: there is none, and *rule is unchanged.
bool dq_rank_rule_find(const char *name, dq_rank_rule *rule);

// DQ_USAGE: the parameter is not in (0, 1], or [0, 1] where ranks.def says so, or multiple is below 1.
dq_status dq_rank_check(dq_rank_rule rule, double parameter, int64_t multiple, dq_error *error);

// Stores in *ranks the ranks that the rule chooses, each rounded up to a multiple of `multiple` (1: unchanged) but not
// above the full rank; 0 stays 0. Statuses as dq_rank_check.
dq_status dq_rank_choose(dq_rank_rule rule, double parameter, int64_t multiple, const dq_hosvd *hosvd, dq_ranks *ranks,
                         dq_error *error);

// The rank of one mode by empirical variational Bayes matrix factorization (Nakajima et al., "Global analytic solution
// of fully-observed variational Bayesian matrix factorization", JMLR 14, 2013): the number of singular values above the
// estimated noise, 0 to the full rank. Each of `group` groups has an unfolding of mode->size x `columns` elements; the
// singular values of mode are those of all groups together (tucker2.h).
int64_t dq_vbmf_rank(const dq_mode *mode, int64_t columns, int64_t group);

#define DQ_RANK_RULE(symbol, name, choose, unit, zero) dq_ranks choose(const dq_hosvd *hosvd, double parameter);
#include "decomp/ranks/ranks.def"
#undef DQ_RANK_RULE

#endif
