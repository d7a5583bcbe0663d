/* What a step's quantisation loses, tensor by tensor: of x and w as they are quantised for the
   forward product, and of dy as it is for the gradient of x. Shares are of a sample of the codes,
   at most 1024 in 8 blocks that are spread evenly.

     at_max   the share of codes of the largest magnitude, those that were saturated among them
     flushed  the share of codes that are 0 although the number is not
     scale    what the first block's codes are multiplied by to decode them */
#ifndef HC_TRAIN_RUN_QUANT_METRICS_H
#define HC_TRAIN_RUN_QUANT_METRICS_H

#include "train/net/net.h"

struct hc_quant_shares {
    double at_max;
    double flushed;
    double scale;
};

struct hc_quant_metrics;

/* NULL if the net is not quantised. The net outlives it. */
enum hc_status hc_quant_metrics_open(struct hc_quant_metrics **metrics, struct hc_device *device,
                                     struct hc_net *net);
void hc_quant_metrics_close(struct hc_quant_metrics *metrics); /* NULL is fine */

/* Whether it looks at the passes that come; it does not at first. NULL is fine. */
void hc_quant_metrics_watch(struct hc_quant_metrics *metrics, bool watching);

/* Of the last passes that it looked at; NaN for a tensor that they did not quantise. */
struct hc_quant_shares hc_quant_metrics_of(const struct hc_quant_metrics *metrics, int l,
                                           enum hc_quant_role role);

#endif
