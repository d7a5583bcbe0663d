/* What quantising does to the operands of a recipe's convolutions, while it trains. */
#ifndef HC_TRAIN_DRIFT_DRIFT_OPERANDS_H
#define HC_TRAIN_DRIFT_DRIFT_OPERANDS_H

#include "train/drift/drift_run.h"

struct hc_operand_sums {
    double difference; /* of the squares of decoded - x */
    double squares;    /* of x */
    double at_max;     /* how many */
    double flushed;
    double count;
    double least; /* of scales */
    double most;
};

/* By quantised convolution. */
struct hc_drift_operands {
    struct hc_operand_sums sums[HC_MAX_LAYERS][HC_QUANT_OF_DY + 1];
};

/* From now on the run adds what it quantises to these, which are empty at first. Nothing where it
   does not quantise. */
void hc_drift_operands_watch(struct hc_drift_run *run, struct hc_drift_operands *operands);

/* Empties them; adds one operand that was quantised (hc_quant_watch). */
void hc_drift_operands_clear(struct hc_drift_operands *operands);
enum hc_status hc_drift_operands_see(void *operands, int layer, enum hc_quant_role role,
                                     const struct hc_call *quantize);

/* What they come to in a quantised convolution; -1: in none. */
struct hc_drift_operand hc_drift_operand_of(const struct hc_drift_operands *operands, int layer,
                                            enum hc_quant_role role);

#endif
