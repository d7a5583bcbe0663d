/* Averages over ranks of small integers. At most six of up to 8 in magnitude come to 48, or to 96
   where each was divided by a half; all of these, and halves of the odd ones, are numbers of bf16.
   So no order rounds anything. */
#include "check/generate/integers.h"

bool hc_integers_average(struct hc_integers *z)
{
    enum { MOST = 8 };
    const struct hc_all_reduce *p = &z->call.params.all_reduce;
    const struct hc_tensor *x = &z->call.in[HC_ALL_REDUCE_X];
    int64_t n = x->shape[1];
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (int64_t rank = 0; rank < x->shape[0]; rank++) {
            int32_t value = hc_integers_draw(z, HC_ALL_REDUCE_X, rank * n + i, MOST);
            z->value[HC_ALL_REDUCE_X][rank * n + i] = value;
            sum += value;
        }
        z->want[HC_ALL_REDUCE_OUT][i] = sum / (p->before * p->after);
    }
    hc_integers_set(z, HC_ALL_REDUCE_X, 1);
    return true;
}
