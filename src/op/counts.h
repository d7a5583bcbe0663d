/* What a training counts on the device: i32 [HC_COUNTS]. */
#ifndef HC_OP_COUNTS_H
#define HC_OP_COUNTS_H

enum hc_count {
    HC_COUNT_STEPS,
    HC_COUNT_TAKEN,     /* the optimizer ran: Adam's t */
    HC_COUNT_SKIPPED,   /* it did not */
    HC_COUNT_FOUND,     /* an infinity or NaN in a gradient, seen by the scaler's rule or not */
    HC_COUNT_CLEAN,     /* what the rule's growth interval is compared with */
    HC_COUNT_HELD_BACK, /* the rule's own */
    HC_COUNT_GAVE_UP,
    HC_COUNTS = 8
};

#endif
