/* A product of matrices on a matrix unit: each element is one chain of the unit's instructions over
   all terms, in their order. */
#ifndef HC_KERNELS_SIM_PRODUCT_H
#define HC_KERNELS_SIM_PRODUCT_H

#include <stddef.h>

#include "kernels/sim/engine.h"
#include "kernels/sim/source.h"

struct hc_sim_product {
    const struct hc_unit *unit;
    const struct hc_sim_engine *engine;
    struct hc_sim_source a, b;
    int64_t rows, columns, terms;
    int threads;

    /* What the chain of an element starts with, and who gets its end: codes in the unit's c and d.
       Called by several threads at once. */
    uint32_t (*start)(const struct hc_call *call, int64_t row, int64_t column);
    void (*finish)(const struct hc_call *call, int64_t row, int64_t column, uint32_t code);
    const struct hc_call *call;
};

size_t hc_sim_product_scratch(const struct hc_sim_product *p);
void hc_sim_product_run(const struct hc_sim_product *p, void *scratch);

#endif
