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

/* -1 or 1; and a power of two among the exponents of the op's data. */
double hc_draw_sign(const struct hc_draw_site *p);
double hc_draw_power(const struct hc_draw_site *p);

/* The distributions for sums (below in draw.c), and whether the call has sums that they are for. */
double hc_draw_sum(const struct hc_draw_site *p, int slot, enum hc_values values,
                   enum hc_distribution distribution);
bool hc_op_sums(const struct hc_call *call, enum hc_distribution distribution);

/* What families make such inputs of. The first term is 2^HC_SUM_HEAD; the others are `half_ulps` of
   it in the accumulator. Whole numbers are odd and at most the largest integer of which all terms,
   or products of two, fill the accumulator; in three of four they are positive, so that sums grow;
   and the first factor is times the unit. hc_whole_fits: there are such numbers. */
enum { HC_SUM_HEAD = 10 };
double hc_sum_tail(const struct hc_call *call, double half_ulps);
double hc_whole_largest(const struct hc_call *call, enum hc_format format);
double hc_whole_unit(const struct hc_call *call);
double hc_whole_odd(const struct hc_draw_site *p, double most);
double hc_whole_sign(const struct hc_draw_site *p, double x);
double hc_whole_term(const struct hc_draw_site *p);
double hc_whole_factor(const struct hc_draw_site *p, int slot);
bool hc_whole_fits(const struct hc_call *call);

/* Element i of an input slot that holds `values`. Slots are filled in order, and a later one may
   depend on the elements of an earlier one. */
double hc_op_value(const struct hc_call *call, int slot, enum hc_values values, int64_t i,
                   enum hc_distribution distribution, uint64_t seed);

/* Among `least` and the formats of data and result, the one whose normal range ends first. */
enum hc_format hc_op_narrow(const struct hc_call *call, enum hc_format least);

#endif
