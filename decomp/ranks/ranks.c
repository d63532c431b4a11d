// The table of rank rules and what all of them share: parameter check and rounding to a multiple.
#include "decomp/ranks/ranks.h"

#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

static const struct {
  const char *name;
  dq_rank_choice choose;
  const char *unit;
  bool zero;
} RULES[DQ_RANK_RULE_COUNT] = {
#define DQ_RANK_RULE(symbol, name, choose, unit, zero) {name, choose, unit, zero},
#include "decomp/ranks/ranks.def"
#undef DQ_RANK_RULE
};

const char *dq_rank_rule_name(dq_rank_rule rule) { return RULES[rule].name; }

bool dq_rank_rule_find(const char *name, dq_rank_rule *rule) {
  const int found = dq_find_row(name, RULES, sizeof *RULES, DQ_RANK_RULE_COUNT);
  if (found >= 0) *rule = (dq_rank_rule)found;
  return found >= 0;
}

static int64_t round_up(int64_t rank, int64_t multiple, int64_t full) {
  int64_t remainder = rank % multiple;
  if (remainder == 0) return rank;
  return multiple - remainder >= full - rank ? full : rank + multiple - remainder;
}

dq_status dq_rank_check(dq_rank_rule rule, double parameter, int64_t multiple, dq_error *error) {
  if ((unsigned)rule >= DQ_RANK_RULE_COUNT) return dq_fail(error, DQ_USAGE, "no rank rule %d", (int)rule);
  bool zero = RULES[rule].zero;
  if (!((parameter > 0 || (zero && parameter == 0)) && parameter <= 1))
    return dq_fail(error, DQ_USAGE, "%s is %g, expected %s 0 and at most 1 (%s)", RULES[rule].name, parameter,
                   zero ? "at least" : "above", RULES[rule].unit);
  if (multiple < 1) return dq_fail(error, DQ_USAGE, "multiple is %lld, expected at least 1", (long long)multiple);
  return DQ_OK;
}

dq_status dq_rank_choose(dq_rank_rule rule, double parameter, int64_t multiple, const dq_hosvd *hosvd, dq_ranks *ranks,
                         dq_error *error) {
  DQ_TRY(dq_rank_check(rule, parameter, multiple, error));
  dq_ranks chosen = RULES[rule].choose(hosvd, parameter);
  ranks->out = round_up(chosen.out, multiple, hosvd->out.rank);
  ranks->in = round_up(chosen.in, multiple, hosvd->in.rank);
  return DQ_OK;
}
