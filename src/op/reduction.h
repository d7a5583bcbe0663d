/* Slots of the reductions: sum, dot and sum_squares. */
#ifndef HC_OP_REDUCTION_H
#define HC_OP_REDUCTION_H

/* All three sum over X. */
enum { HC_REDUCE_X, HC_DOT_Y = 1, HC_SUM_SQUARES_PARTIAL = 1 };
enum { HC_REDUCE_OUT };

#endif
