/* The settings of a thread's floating-point arithmetic: rounding direction, subnormal numbers. */
#ifndef HC_NUM_FLOAT_STATE_H
#define HC_NUM_FLOAT_STATE_H

/* What differs from C's default in this thread, such as "another rounding than to nearest", or
   NULL. Sets the default again. */
const char *hc_float_state_reset(void);

/* Sets the default again, and says on standard error who has left what, and when: "loaded". */
void hc_float_state_undo(const char *who, const char *when);

#endif
