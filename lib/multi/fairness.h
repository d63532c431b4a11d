// Figures on several networks that run together, from the times of their requests alone and in the mix.
#ifndef DQ_MULTI_FAIRNESS_H
#define DQ_MULTI_FAIRNESS_H

// A network, which counts as often as it has senders.
typedef struct dq_share {
  double alone, together; // mean seconds of a request, both > 0
  int senders;            // >= 1
} dq_share;

typedef struct dq_fairness {
  // Mean of together / alone, and sum of alone / together: S. Eyerman, L. Eeckhout, System-Level Performance Metrics
  // for Multiprogram Workloads, IEEE Micro 28(3), 2008: average normalized turnaround time, system throughput.
  double turnaround, throughput;
  // (sum x)^2 / (n sum x^2) with x = alone / together; 1: all are slowed down alike, 1 / n: one has everything. R.
  // Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
  // Computer Systems, DEC-TR-301, 1984.
  double jain;
} dq_fairness;

// Computes the figures of `count` (>= 1) shares.
dq_fairness dq_fairness_of(const dq_share *shares, int count);

#endif
