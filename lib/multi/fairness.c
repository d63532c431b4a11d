#include "lib/multi/fairness.h"

dq_fairness dq_fairness_of(const dq_share *shares, int count) {
  double senders = 0, slowdowns = 0, sum = 0, squares = 0;
  for (int i = 0; i < count; i++) {
    double times = shares[i].senders, speed = shares[i].alone / shares[i].together;
    senders += times;
    slowdowns += times / speed;
    sum += times * speed;
    squares += times * speed * speed;
  }
  return (dq_fairness){slowdowns / senders, sum, sum * sum / (senders * squares)};
}
