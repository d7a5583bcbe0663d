/* A number shared out among those who make it together, and what the shares scatter by.

   value[S] is what the players in S make, where bit i of S stands for player i; value[0] is 0. */
#ifndef HC_TRAIN_DRIFT_DRIFT_SHAPLEY_H
#define HC_TRAIN_DRIFT_DRIFT_SHAPLEY_H

#include <stdint.h>

/* How many members a set has: bits that are 1. */
int hc_members(uint32_t set);

/* Shapley values (A Value for n-Person Games, 1953): what each player adds, on the mean over all
   orders in which they can come. They sum to the value of all. */
void hc_shapley(const double *value, int players, double *share);

/* The interaction of players i and j (Grabisch and Roubens, An axiomatic approach to the concept of
   interaction, 1999): what both add together beyond what they add one by one, on the mean over the
   orders in which both come as one. */
double hc_shapley_pair(const double *value, int players, int i, int j);

/* The standard error of (sum of parts) / (sum of wholes), from n pairs of them; NaN below two. */
double hc_share_error(const double *part, const double *whole, int n);

#endif
