/* Orders of additions, and what is lost in each. */
#ifndef HC_CHECK_FINGERPRINT_ORDERS_H
#define HC_CHECK_FINGERPRINT_ORDERS_H

#include "check/fingerprint/fingerprint.h"

struct hc_order_rule {
    enum hc_sum_order order;
    /* The products under the meeting of i < j, in pieces of p, of n in all. */
    int (*under)(int i, int j, int p, int n);
    /* The products that are added to C before j or with it, if C comes first. */
    int (*under_c)(int j, int p);
    int least; /* piece; the others are twice that, four times, ... */
    bool sized;
};

/* The simple ones first: a rule that needs no pieces explains more with less. The last one has no
   functions. */
extern const struct hc_order_rule hc_order_rules[];

#endif
