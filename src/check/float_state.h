/* What a thread's floating-point arithmetic is set to. */
#ifndef HC_CHECK_FLOAT_STATE_H
#define HC_CHECK_FLOAT_STATE_H

/* What is left set in this thread so that its arithmetic is not C's default, such as "rounding
   upward", or NULL. Sets the default again. */
const char *hc_float_state_reset(void);

/* The same of all threads that a parallel loop of this one has. */
const char *hc_float_state_reset_all(void);

#endif
