#include "lib/multi/job_policy.h"

#include <stddef.h>

#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

static int64_t rank_fifo(const dq_rank_facts *facts) { return (void)facts, 0; }
static int64_t rank_round_robin(const dq_rank_facts *facts) { return facts->turn; }
static int64_t rank_priority(const dq_rank_facts *facts) { return -(int64_t)facts->priority; }
static int64_t rank_edf(const dq_rank_facts *facts) { return facts->deadline; }

static const dq_job_policy policies[] = {
#define DQ_JOB_POLICY(symbol, name, alike, by_priority, help) {name, help, rank_##symbol, alike, by_priority},
#include "lib/multi/job_policies.def"
};
enum { POLICIES = DQ_COUNT(policies) };

const dq_job_policy *dq_job_policy_at(int index) { return index >= 0 && index < POLICIES ? &policies[index] : NULL; }

int dq_job_policy_find(const char *name) { return dq_find_row(name, policies, sizeof *policies, POLICIES); }
