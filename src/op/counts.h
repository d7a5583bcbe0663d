/* What a training counts on the device: a tensor i32 [HC_COUNTS]. */
#ifndef HC_OP_COUNTS_H
#define HC_OP_COUNTS_H

enum hc_count {
    HC_COUNT_STEPS,     /* all steps */
    HC_COUNT_TAKEN,     /* steps in which the optimizer ran: Adam's t */
    HC_COUNT_SKIPPED,   /* steps in which it did not */
    HC_COUNT_FOUND,     /* steps with an infinity or NaN in a gradient, whether the scaler looked or
    not */
    HC_COUNT_CLEAN,     /* what the scaler compares with its growth interval */
    HC_COUNT_HELD_BACK, /* overflows at which hysteresis kept the scale */
    HC_COUNT_GAVE_UP,   /* 1 once the scaler raised an error */
    HC_COUNTS = 8
};

#endif
