/* SGD, Adam and AdamW. A block's first thread works the step's coefficients out for all of it. */
#include "kernels/cuda/optimizer.h"

#include "kernels/adam.h"
#include "kernels/cuda/walk.h"
#include "kernels/sgd.h"

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

HC_ON_DEVICE void hc_dk_sgd_body(const struct hc_dk_sgd *a)
{
    struct hc_sgd_step *step = (struct hc_sgd_step *)hc_shared();
    int left_out = hc_dk_left_out(a->found);
    if (hc_thread() == 0)
        *step = hc_sgd_coefficients(&a->params, a->hyper);
    hc_sync();
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_step()) {
        if (left_out) {
            hc_dk_copy(&a->w, &a->w_out, i);
            hc_dk_copy(&a->v, &a->v_out, i);
            continue;
        }
        float w = hc_dk_load(&a->w, i);
        float v = hc_dk_load(&a->v, i);
        hc_element_sgd(a->params.arithmetic, step, &w, hc_dk_load(&a->g, i), &v);
        hc_dk_store(&a->w_out, i, w);
        hc_dk_store(&a->v_out, i, v);
    }
}
HC_LAUNCHABLE(sgd)

HC_ON_DEVICE void hc_dk_adam_body(const struct hc_dk_adam *a)
{
    struct hc_adam_step *step = (struct hc_adam_step *)hc_shared();
    int left_out = hc_dk_left_out(a->found);
    if (hc_thread() == 0)
        *step = hc_adam_coefficients(&a->params, a->decoupled, a->hyper);
    hc_sync();
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_step()) {
        if (left_out) {
            hc_dk_copy(&a->w, &a->w_out, i);
            hc_dk_copy(&a->m, &a->m_out, i);
            hc_dk_copy(&a->v, &a->v_out, i);
            continue;
        }
        float w = hc_dk_load(&a->w, i);
        float m = hc_dk_load(&a->m, i);
        float v = hc_dk_load(&a->v, i);
        hc_element_adam(a->params.arithmetic, step, &w, hc_dk_load(&a->g, i), &m, &v);
        hc_dk_store(&a->w_out, i, w);
        hc_dk_store(&a->m_out, i, m);
        hc_dk_store(&a->v_out, i, v);
    }
}
HC_LAUNCHABLE(adam)
