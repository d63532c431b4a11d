// Whose job runs next: the policies of a queue, one row of job_policies.def each.
#ifndef DQ_MULTI_JOB_POLICY_H
#define DQ_MULTI_JOB_POLICY_H

#include <stdbool.h>
#include <stdint.h>

// The facts on a request from which a policy computes its rank.
typedef struct dq_rank_facts {
  int priority;     // larger is more urgent
  int64_t deadline; // in the unit of the caller's clock; INT64_MAX: none
  int64_t turn;     // the turn of the network that the next job of the request takes, if networks take turns
} dq_rank_facts;

typedef struct dq_job_policy {
  const char *name, *help;
  // The rank of a request that waits for its next job: the least rank runs first, among equal ranks the request that
  // came first.
  int64_t (*rank)(const dq_rank_facts *facts);
  bool alike;       // all requests have the same rank
  bool by_priority; // all requests of one priority have the same rank, which those of no other one have
} dq_job_policy;

// Row `index`, static; NULL after the last.
const dq_job_policy *dq_job_policy_at(int index);
// The index of the row of that name; -1: there is none.
int dq_job_policy_find(const char *name);

#endif
