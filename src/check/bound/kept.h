/* What many elements have in common, kept while nobody changes the call: the bounds of batch norm
   keep what a channel comes to, and those of cross-entropy what a row does. */
#ifndef HC_CHECK_BOUND_KEPT_H
#define HC_CHECK_BOUND_KEPT_H

#include <stdbool.h>
#include <stdint.h>

/* What is kept of a call's channels or rows; channel c stands at c % HC_KEPT_CHANNELS. */
enum { HC_KEPT_CHANNELS = 64 };
struct hc_kept {
    uint64_t promise; /* hc_reference_promise of the call; 0: there is none, and nothing is kept */
    int64_t channel;
};

/* Whether this channel of this promise is kept already. From now on it is. */
static inline bool hc_is_kept(struct hc_kept *kept, uint64_t promise, int64_t channel)
{
    bool is = promise && kept->promise == promise && kept->channel == channel;
    *kept = (struct hc_kept){promise, channel};
    return is;
}

#endif
