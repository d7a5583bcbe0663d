/* SGD, Adam and AdamW. A block's first thread works the step's coefficients out for all of it. */
#include "kernels/cuda/kernel/optimizer.h"

#include "kernels/element/adam.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/sgd.h"
#include "num/stochastic.h"

/* Whether the step is to be left out. */
HC_ON_DEVICE int hc_dk_left_out(const float *found)
{
    return found && *found != 0;
}

/* An element's bytes, as they are. */
HC_ON_DEVICE void hc_dk_copy(const struct hc_dk_view *from, const struct hc_dk_view *to, int64_t i)
{
    if (from->format == HC_FP32)
        ((uint32_t *)to->data)[i] = ((const uint32_t *)from->data)[i];
    else
        ((uint16_t *)to->data)[i] = ((const uint16_t *)from->data)[i];
}

/* Stochastic rounding goes by the lanes of num/stochastic.h: how many n elements have; the number of the
   k-th; its j-th element. */
HC_ON_DEVICE int64_t hc_dk_lanes(int64_t n)
{
    return (n + HC_ROUND_BLOCK - 1) / HC_ROUND_BLOCK * HC_ROUND_LANES;
}

HC_ON_DEVICE uint64_t hc_dk_lane(const struct hc_stochastic *s, int64_t k)
{
    return (uint64_t)(s->first / 4 + k);
}

HC_ON_DEVICE int64_t hc_dk_of_lane(int64_t k, int j)
{
    return k / HC_ROUND_LANES * HC_ROUND_BLOCK + k % HC_ROUND_LANES + j * HC_ROUND_LANES;
}

HC_ON_DEVICE void hc_dk_sgd_element(const struct hc_dk_sgd *a, const struct hc_sgd_step *step,
                                    int64_t i, uint32_t random)
{
    float w = hc_dk_load(&a->w, i);
    float v = hc_dk_load(&a->v, i);
    float g = hc_dk_load(&a->g, i);
    if (a->c.data) {
        float c = hc_dk_load(&a->c, i);
        hc_element_sgd_kahan(a->params.arithmetic, a->w.format, step, &w, g, &v, &c);
        hc_dk_store(&a->c_out, i, c);
    } else {
        hc_element_sgd(a->params.arithmetic, step, &w, g, &v);
    }
    if (a->params.stochastic.on)
        ((uint16_t *)a->w_out.data)[i] = hc_bf16_stochastic(w, random);
    else
        hc_dk_store(&a->w_out, i, w);
    hc_dk_store(&a->v_out, i, v);
}

HC_ON_DEVICE void hc_dk_sgd_leave(const struct hc_dk_sgd *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        hc_dk_copy(&a->w, &a->w_out, i);
        hc_dk_copy(&a->v, &a->v_out, i);
        if (a->c.data)
            hc_dk_copy(&a->c, &a->c_out, i);
    }
}

HC_ON_DEVICE void hc_dk_sgd_body(const struct hc_dk_sgd *a)
{
    struct hc_sgd_step *step = (struct hc_sgd_step *)hc_shared();
    const struct hc_stochastic *s = &a->params.stochastic;
    if (hc_dk_left_out(a->found)) {
        hc_dk_sgd_leave(a);
        return;
    }
    if (hc_thread() == 0)
        *step = hc_sgd_coefficients(&a->params, a->hyper);
    hc_sync();
    if (!s->on) {
        for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
            hc_dk_sgd_element(a, step, i, 0);
        return;
    }
    for (int64_t k = hc_dk_first(); k < hc_dk_lanes(a->n); k += hc_dk_stride()) {
        struct hc_philox words = hc_round_lane(s->seed, (uint32_t)a->hyper[2], hc_dk_lane(s, k));
        for (int j = 0; j < 4 && hc_dk_of_lane(k, j) < a->n; j++)
            hc_dk_sgd_element(a, step, hc_dk_of_lane(k, j), words.word[j] >> 16);
    }
}
HC_LAUNCHABLE(sgd)

HC_ON_DEVICE void hc_dk_adam_element(const struct hc_dk_adam *a, const struct hc_adam_step *step,
                                     int64_t i, uint32_t random)
{
    float w = hc_dk_load(&a->w, i);
    float m = hc_dk_load(&a->m, i);
    float v = hc_dk_load(&a->v, i);
    float g = hc_dk_load(&a->g, i);
    if (a->c.data) {
        float c = hc_dk_load(&a->c, i);
        hc_element_adam_kahan(a->params.arithmetic, a->w.format, step, &w, g, &m, &v, &c);
        hc_dk_store(&a->c_out, i, c);
    } else {
        hc_element_adam(a->params.arithmetic, step, &w, g, &m, &v);
    }
    if (a->params.stochastic.on)
        ((uint16_t *)a->w_out.data)[i] = hc_bf16_stochastic(w, random);
    else
        hc_dk_store(&a->w_out, i, w);
    hc_dk_store(&a->m_out, i, m);
    hc_dk_store(&a->v_out, i, v);
}

HC_ON_DEVICE void hc_dk_adam_leave(const struct hc_dk_adam *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        hc_dk_copy(&a->w, &a->w_out, i);
        hc_dk_copy(&a->m, &a->m_out, i);
        hc_dk_copy(&a->v, &a->v_out, i);
        if (a->c.data)
            hc_dk_copy(&a->c, &a->c_out, i);
    }
}

HC_ON_DEVICE void hc_dk_adam_body(const struct hc_dk_adam *a)
{
    struct hc_adam_step *step = (struct hc_adam_step *)hc_shared();
    const struct hc_stochastic *s = &a->params.stochastic;
    if (hc_dk_left_out(a->found)) {
        hc_dk_adam_leave(a);
        return;
    }
    if (hc_thread() == 0)
        *step = hc_adam_coefficients(&a->params, a->decoupled, a->hyper);
    hc_sync();
    if (!s->on) {
        for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
            hc_dk_adam_element(a, step, i, 0);
        return;
    }
    for (int64_t k = hc_dk_first(); k < hc_dk_lanes(a->n); k += hc_dk_stride()) {
        struct hc_philox words = hc_round_lane(s->seed, (uint32_t)a->hyper[2], hc_dk_lane(s, k));
        for (int j = 0; j < 4 && hc_dk_of_lane(k, j) < a->n; j++)
            hc_dk_adam_element(a, step, hc_dk_of_lane(k, j), words.word[j] >> 16);
    }
}
HC_LAUNCHABLE(adam)
