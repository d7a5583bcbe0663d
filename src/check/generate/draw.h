/* One value of a distribution, at a draw site. */
#ifndef HC_CHECK_GENERATE_DRAW_H
#define HC_CHECK_GENERATE_DRAW_H

#include "check/generate/distribution.h"
#include "op/descriptor.h"

/* An element that is drawn, and its random numbers: a normal one (an integer in i32), and one
   uniform number for each value of `more`. */
struct hc_draw_site {
    const struct hc_call *call;
    enum hc_format format;
    uint64_t seed;
    uint64_t stream;
    uint64_t index;
};

double hc_draw_uniform(const struct hc_draw_site *p, uint64_t more);
double hc_draw_normal(const struct hc_draw_site *p);

/* HC_DRAW_CANCELLATION (draw_cancelling.c), and whether the call's sums have two terms that can
   cancel. */
bool hc_op_cancels(const struct hc_call *call);
double hc_draw_cancelling(const struct hc_draw_site *p, int slot, enum hc_values values);

/* The distributions for sums (draw_sums.c), and whether the call has sums that they are for. */
double hc_draw_sum(const struct hc_draw_site *p, int slot, enum hc_values values,
                   enum hc_distribution distribution);
bool hc_op_sums(const struct hc_call *call, enum hc_distribution distribution);

/* Element i of an input slot that holds `values`. Slots are filled in order, and a later one may
   depend on the elements of an earlier one. */
double hc_op_value(const struct hc_call *call, int slot, enum hc_values values, int64_t i,
                   enum hc_distribution distribution, uint64_t seed);

/* Among `least` and the formats of data and result, the one whose normal range ends first. */
enum hc_format hc_op_narrow(const struct hc_call *call, enum hc_format least);

#endif
