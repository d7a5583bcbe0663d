/* The settings of a thread's floating-point arithmetic: rounding direction, subnormal numbers. */
#ifndef HC_CHECK_FLOAT_STATE_H
#define HC_CHECK_FLOAT_STATE_H

/* What differs from C's default in this thread, such as "rounding upward", or NULL. Sets the
   default again. */
const char *hc_float_state_reset(void);

/* The same for all threads of a parallel loop in this thread. */
const char *hc_float_state_reset_all(void);

#endif
