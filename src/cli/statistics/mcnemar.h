/* Do two networks get other test images right? McNemar's test (1947), exact.

   Both networks see the same images. Those that both get right, or both wrong, say nothing of a
   difference. Of the others, `first` are right with the first network alone and `second` with the
   second alone. If neither is better, each of these falls to either side with probability 1/2.

   That is a statement about two sets of weights and not about two recipes: two trainings that
   differ in nothing but the order of their sums part within some hundred steps, end on other
   weights, and are told apart by this test more often than its level says. So it stands beside the
   test over seeds and does not replace it. */
#ifndef HC_CLI_STATISTICS_MCNEMAR_H
#define HC_CLI_STATISTICS_MCNEMAR_H

/* The two-sided p value: min(1, 2 P(B <= min(first, second))), B binomial of first + second trials
   with probability 1/2. Within 1e-10 of itself up to 10,000 images; 1 without any. */
double hc_mcnemar(long long first, long long second);

#endif
