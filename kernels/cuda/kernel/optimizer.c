/* SGD, Adam and AdamW. A block's first thread works out the step's coefficients for all of it; then
   each thread updates elements that are a grid apart. After an overflow (found_inf) the state is
   copied as it is.

   Stochastic rounding shares each random counter among the four elements of a lane of
   num/stochastic.h, so that a thread takes lanes instead of elements. */
#include "kernels/cuda/kernel/optimizer.h"

#include "kernels/cuda/kernel/elements.h"
#include "num/stochastic.h"

/* Copies element i as it is, where the tensor is there. */
HC_ON_DEVICE void hc_dk_copy(const struct hc_tensor *from, const struct hc_tensor *to, int64_t i)
{
    if (from->data && from->format == HC_FP32)
        ((uint32_t *)to->data)[i] = ((const uint32_t *)from->data)[i];
    else if (from->data)
        ((uint16_t *)to->data)[i] = ((const uint16_t *)from->data)[i];
}

/* random: for the rounding of w, if that is stochastic. */
HC_ON_DEVICE void hc_dk_update(const struct hc_dk_optimizer *a, const union hc_dk_step *step,
                               int64_t i, uint32_t random)
{
    const struct hc_sgd *sgd = &a->params.sgd;
    const struct hc_adam *adam = &a->params.adam;
    float w = hc_dk_load(&a->w, i);
    float m = hc_dk_load(&a->m, i);
    float v = a->v.data ? hc_dk_load(&a->v, i) : 0;
    float c = a->c.data ? hc_dk_load(&a->c, i) : 0;
    float g = hc_dk_load(&a->g, i);
    if (a->op == HC_OP_sgd && a->c.data)
        hc_element_sgd_kahan(sgd->arithmetic, a->w.format, &step->sgd, &w, g, &m, &c);
    else if (a->op == HC_OP_sgd)
        hc_element_sgd(sgd->arithmetic, &step->sgd, &w, g, &m);
    else if (a->c.data)
        hc_element_adam_kahan(adam->arithmetic, a->w.format, &step->adam, &w, g, &m, &v, &c);
    else
        hc_element_adam(adam->arithmetic, &step->adam, &w, g, &m, &v);
    if (a->stochastic.on)
        ((uint16_t *)a->new_w.data)[i] = hc_bf16_stochastic(w, random);
    else
        hc_dk_store(&a->new_w, i, w);
    hc_dk_store(&a->new_m, i, m);
    if (a->v.data)
        hc_dk_store(&a->new_v, i, v);
    if (a->c.data)
        hc_dk_store(&a->new_c, i, c);
}

/* Lane k is lane k % LANES of block k / LANES of HC_ROUND_BLOCK elements. */
HC_ON_DEVICE void hc_dk_update_lane(const struct hc_dk_optimizer *a, const union hc_dk_step *step,
                                    int64_t k, int64_t n)
{
    uint64_t lane = (uint64_t)(a->stochastic.first / 4 + k);
    struct hc_philox words =
        hc_round_lane(a->stochastic.seed, (uint32_t)a->hyper[HC_HYPER_STEP], lane);
    int64_t first = k / HC_ROUND_LANES * HC_ROUND_BLOCK + k % HC_ROUND_LANES;
    for (int j = 0; j < 4 && first + j * HC_ROUND_LANES < n; j++)
        hc_dk_update(a, step, first + j * HC_ROUND_LANES, words.word[j] >> 16);
}

HC_ON_DEVICE void hc_dk_optimizer_body(const struct hc_dk_optimizer *a)
{
    union hc_dk_step *step = (union hc_dk_step *)hc_shared();
    int64_t n = hc_dk_count(&a->w);
    int64_t lanes = (n + HC_ROUND_BLOCK - 1) / HC_ROUND_BLOCK * HC_ROUND_LANES;
    if (a->found_inf && *a->found_inf != 0) {
        for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
            hc_dk_copy(&a->w, &a->new_w, i);
            hc_dk_copy(&a->m, &a->new_m, i);
            hc_dk_copy(&a->v, &a->new_v, i);
            hc_dk_copy(&a->c, &a->new_c, i);
        }
        return;
    }
    if (hc_thread() == 0 && a->op == HC_OP_sgd)
        step->sgd = hc_sgd_coefficients(&a->params.sgd, a->hyper);
    else if (hc_thread() == 0)
        step->adam = hc_adam_coefficients(&a->params.adam, a->op == HC_OP_adamw, a->hyper);
    hc_sync();
    if (a->stochastic.on)
        for (int64_t k = hc_dk_first(); k < lanes; k += hc_dk_stride())
            hc_dk_update_lane(a, step, k, n);
    else
        for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride())
            hc_dk_update(a, step, i, 0);
}
HC_LAUNCHABLE(optimizer, struct hc_dk_optimizer)
