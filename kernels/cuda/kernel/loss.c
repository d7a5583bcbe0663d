/* Softmax cross-entropy in fp32, with the row's maximum subtracted: a block takes a row at a time.
   Shared memory: a float for every warp. */
#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/kernel/elements.h"

/* One row of the logits. */
struct hc_dk_row {
    const struct hc_tensor *logits;
    int64_t first;
    int64_t classes;
    int64_t label;
};

HC_ON_DEVICE struct hc_dk_row hc_dk_row_of(const struct hc_call *c, int64_t row)
{
    const struct hc_tensor *logits = &c->in[HC_XENT_LOGITS];
    struct hc_dk_row r = {logits, row * logits->shape[1], logits->shape[1],
                          ((const int32_t *)c->in[HC_XENT_LABELS].data)[row]};
    return r;
}

HC_ON_DEVICE float hc_dk_logit(const struct hc_dk_row *r, int64_t class_)
{
    return hc_dk_load(r->logits, r->first + class_);
}

/* The largest logit that is not NaN, and the sum of exp(z - max), where a NaN comes back: the same
   in every thread of the block. */
HC_ON_DEVICE void hc_dk_softmax_sum(const struct hc_dk_row *r, float *max, float *sum)
{
    float *shared = (float *)hc_shared();
    float largest = -INFINITY;
    float own = 0;
    for (int64_t j = hc_thread(); j < r->classes; j += hc_threads())
        largest = fmaxf(largest, hc_dk_logit(r, j));
    largest = hc_dk_block_max(largest, shared);
    for (int64_t j = hc_thread(); j < r->classes; j += hc_threads())
        own += expf(hc_dk_logit(r, j) - largest);
    *sum = hc_dk_block_sum(own, shared);
    *max = largest;
}

/* 1 if the row's largest logit is at the label, the first of equals. It is not if a thread found
   one that is larger, or equal and earlier. */
HC_ON_DEVICE float hc_dk_is_correct(const struct hc_dk_row *r)
{
    float at = hc_dk_logit(r, r->label);
    float wrong = at == at ? 0.0f : 1.0f;
    for (int64_t j = hc_thread(); j < r->classes; j += hc_threads()) {
        float other = hc_dk_logit(r, j);
        if (other > at || (j < r->label && other == at))
            wrong = 1;
    }
    return 1 - hc_dk_block_max(wrong, (float *)hc_shared());
}

/* scratch[row] = the row's loss, scratch[rows + row] = 1 if it is correct, else 0. The last block
   adds them up. */
HC_ON_DEVICE void hc_dk_row_losses_body(const struct hc_dk_counted_call *a)
{
    const struct hc_call *c = &a->call;
    int64_t rows = c->in[HC_XENT_LOGITS].shape[0];
    float *losses = (float *)c->scratch;
    float *shared = (float *)hc_shared();
    for (int64_t row = hc_block(); row < rows; row += hc_blocks()) {
        struct hc_dk_row r = hc_dk_row_of(c, row);
        float max;
        float sum;
        hc_dk_softmax_sum(&r, &max, &sum);
        float correct = hc_dk_is_correct(&r);
        if (hc_thread() == 0) {
            losses[row] = logf(sum) - (hc_dk_logit(&r, r.label) - max);
            losses[rows + row] = correct;
        }
    }
    if (!hc_dk_last_block(a->counters, hc_blocks()))
        return;
    float loss = hc_dk_sum_of(losses, rows, shared);
    float correct = hc_dk_sum_of(losses + rows, rows, shared);
    if (hc_thread() != 0)
        return;
    hc_dk_store(&c->out[HC_XENT_LOSS], 0, loss / (c->params.xent.sum ? 1 : (float)rows));
    if (c->out[HC_XENT_CORRECT].data)
        hc_dk_store(&c->out[HC_XENT_CORRECT], 0, correct);
}
HC_LAUNCHABLE(row_losses, struct hc_dk_counted_call)

HC_ON_DEVICE void hc_dk_xent_bwd_body(const struct hc_call *c)
{
    int64_t rows = c->in[HC_XENT_LOGITS].shape[0];
    float count = c->params.xent.sum ? 1 : (float)rows;
    float upstream = *(const float *)c->in[HC_XENT_UPSTREAM].data;
    for (int64_t row = hc_block(); row < rows; row += hc_blocks()) {
        struct hc_dk_row r = hc_dk_row_of(c, row);
        float max;
        float sum;
        hc_dk_softmax_sum(&r, &max, &sum);
        for (int64_t j = hc_thread(); j < r.classes; j += hc_threads()) {
            float p = expf(hc_dk_logit(&r, j) - max) / sum;
            float off = p - (j == r.label ? 1.0f : 0.0f);
            hc_dk_store(&c->out[HC_XENT_DLOGITS], r.first + j, off * upstream / count);
        }
    }
}
HC_LAUNCHABLE(xent_bwd, struct hc_call)
