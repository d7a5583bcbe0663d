/* Gradients on their way through a loss scale: scaled into half by the backward pass, unscaled for
   the optimizer; on the backend under test. */
#ifndef HC_CASES_SCALING_H
#define HC_CASES_SCALING_H

#include "cases/trail.h"

/* out = gradients * scale (op scale), rounded into out's format. */
enum hc_status hc_scale_into(struct hc_check *check, const struct hc_tensor *gradients,
                             double scale, const struct hc_tensor *out);

/* out = scaled / scale (op unscale), rounded into out's format; *found is what the detector says. */
enum hc_status hc_unscale_into(struct hc_check *check, const struct hc_tensor *scaled, double scale,
                               bool reciprocal, const struct hc_tensor *out, bool *found);

/* n fp32 numbers of either sign whose log2 |g| is normal: mean and deviation in powers of two. */
struct hc_tensor hc_log_normal(struct hc_check *check, int64_t n, double mean, double deviation);

/* What became of gradients that were stored in half. */
struct hc_stored {
    int64_t zero;
    int64_t subnormal;
    int64_t infinite;
};

/* Counts it, and notes each gradient against half(S g): S g is exact in fp64, S a power of two. */
struct hc_stored hc_stored_count(const struct hc_tensor *g, double scale,
                                 const struct hc_tensor *half, struct hc_running_tally *tally);

/* The largest power of two at which no gradient overflows: S max |g| < 65520. */
double hc_largest_scale(const struct hc_tensor *g);

/* The histogram over exponents, for `halfcheck explain`. */
void hc_exponents_say(struct hc_check *check, const struct hc_tensor *g);

/* The share of the gradients that half loses, in percent, against the loss scale; `dynamic` is where a
   dynamic scale goes. */
struct hc_picture *hc_shares_picture(struct hc_check *check, double dynamic);

/* The histogram over exponents, with the range of half; and a series of it, of S g. */
struct hc_picture *hc_exponents_picture(struct hc_check *check);
void hc_exponents_draw(struct hc_check *check, struct hc_picture *picture, const char *series,
                       const struct hc_tensor *g, double scale);

#endif
