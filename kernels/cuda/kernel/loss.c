/* Softmax cross-entropy with the row's maximum subtracted, fp32: a block takes a row at a time. */
#include "kernels/cuda/kernel/loss.h"

#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/elements.h"

/* Largest logit of the row (of those that are not NaN; a NaN comes back through the sum), and the
   sum of exp(z - max); the same in every thread of the block. */
HC_ON_DEVICE void hc_dk_softmax_sum(const struct hc_dk_logits *l, int64_t row, float *max,
                                    float *sum)
{
    float *shared = (float *)hc_shared();
    float most = -INFINITY;
    float part = 0;
    for (int64_t j = hc_thread(); j < l->classes; j += hc_threads())
        most = fmaxf(most, hc_dk_load(&l->z, row * l->classes + j));
    most = hc_dk_block_max(most, shared);
    for (int64_t j = hc_thread(); j < l->classes; j += hc_threads())
        part += expf(hc_dk_load(&l->z, row * l->classes + j) - most);
    *sum = hc_dk_block_sum(part, shared);
    *max = most;
}

/* Whether the row's largest logit is at the label, the first of equals: not where a thread found one
   that is larger, or equal and earlier. */
HC_ON_DEVICE float hc_dk_is_right(const struct hc_dk_logits *l, int64_t row)
{
    float at = hc_dk_load(&l->z, row * l->classes + l->label[row]);
    float wrong = at == at ? 0.0f : 1.0f;
    for (int64_t j = hc_thread(); j < l->classes; j += hc_threads()) {
        float other = hc_dk_load(&l->z, row * l->classes + j);
        if (other > at || (j < l->label[row] && other == at))
            wrong = 1;
    }
    return 1 - hc_dk_block_max(wrong, (float *)hc_shared());
}

HC_ON_DEVICE void hc_dk_row_losses_body(const struct hc_dk_row_losses *a)
{
    const struct hc_dk_logits *l = &a->logits;
    for (int64_t row = hc_block(); row < l->rows; row += hc_blocks()) {
        float max;
        float sum;
        hc_dk_softmax_sum(l, row, &max, &sum);
        float right = hc_dk_is_right(l, row);
        if (hc_thread() == 0)
            a->right[row] = right;
        if (hc_thread() == 0)
            a->to[row] = logf(sum) - (hc_dk_load(&l->z, row * l->classes + l->label[row]) - max);
    }
}
HC_LAUNCHABLE(row_losses)

HC_ON_DEVICE void hc_dk_xent_bwd_body(const struct hc_dk_xent_bwd *a)
{
    const struct hc_dk_logits *l = &a->logits;
    for (int64_t row = hc_block(); row < l->rows; row += hc_blocks()) {
        float max;
        float sum;
        hc_dk_softmax_sum(l, row, &max, &sum);
        for (int64_t j = hc_thread(); j < l->classes; j += hc_threads()) {
            int64_t at = row * l->classes + j;
            float p = expf(hc_dk_load(&l->z, at) - max) / sum;
            float off = p - (j == l->label[row] ? 1.0f : 0.0f);
            hc_dk_store(&a->out, at, off * *a->upstream / a->count);
        }
    }
}
HC_LAUNCHABLE(xent_bwd)
