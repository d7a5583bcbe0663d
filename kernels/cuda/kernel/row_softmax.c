/* softmax of rows, its logarithm, and two attentions merged by their log-sums: a block takes a row
   at a time. Shared memory: a float for every warp. */
#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/defined.h"
#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE float hc_dk_scaled_logit(const struct hc_dk_row_softmax *a, int64_t row, int64_t u)
{
    float z = a->scale * hc_dk_load(&a->x, row * a->n + u);
    return a->mask.data ? z + hc_dk_load(&a->mask, row % a->turn * a->n + u) : z;
}

/* A NaN is no maximum, and comes back through the sum. */
HC_ON_DEVICE void hc_dk_row_softmax_body(const struct hc_dk_row_softmax *a)
{
    float *shared = (float *)hc_shared();
    for (int64_t row = hc_block(); row < a->rows; row += hc_blocks()) {
        int64_t past = a->causal ? row % a->turn + 1 + a->n - a->turn : a->n;
        past = past < 0 ? 0 : past < a->n ? past : a->n;
        float max = -INFINITY;
        float sum = 0;
        float sees = 0;
        for (int64_t u = hc_thread(); u < past; u += hc_threads()) {
            float z = hc_dk_scaled_logit(a, row, u);
            sees = z != -INFINITY ? 1 : sees;
            max = fmaxf(max, z);
        }
        sees = hc_dk_block_max(sees, shared);
        max = hc_dk_block_max(max, shared);
        for (int64_t u = hc_thread(); u < past; u += hc_threads())
            sum += expf(hc_dk_scaled_logit(a, row, u) - max);
        sum = hc_dk_block_sum(sum, shared);
        float log_sum = a->log ? logf(sum) : 0;
        for (int64_t u = hc_thread(); u < a->n; u += hc_threads()) {
            float y = a->without;
            if (sees != 0 && u >= past)
                y = 0;
            else if (sees != 0 && a->log)
                y = hc_dk_scaled_logit(a, row, u) - max - log_sum;
            else if (sees != 0)
                y = expf(hc_dk_scaled_logit(a, row, u) - max) / sum;
            hc_dk_store(&a->y, row * a->n + u, y);
        }
    }
}
HC_LAUNCHABLE(row_softmax, struct hc_dk_row_softmax)

HC_ON_DEVICE void hc_dk_row_softmax_bwd_body(const struct hc_dk_row_softmax_bwd *a)
{
    float *shared = (float *)hc_shared();
    for (int64_t row = hc_block(); row < a->rows; row += hc_blocks()) {
        int64_t first = row * a->n + hc_thread();
        int64_t end = (row + 1) * a->n;
        float sum = 0;
        for (int64_t i = first; i < end; i += hc_threads())
            sum += (a->log ? 1 : hc_dk_load(&a->y, i)) * hc_dk_load(&a->dy, i);
        sum = hc_dk_block_sum(sum, shared);
        for (int64_t i = first; i < end; i += hc_threads()) {
            float y = hc_dk_load(&a->y, i);
            float dy = hc_dk_load(&a->dy, i);
            hc_dk_store(&a->dx, i, a->log ? dy - expf(y) * sum : a->scale * (y * (dy - sum)));
        }
    }
}
HC_LAUNCHABLE(row_softmax_bwd, struct hc_dk_row_softmax_bwd)

/* A part that has seen nothing has no weight beside one that has. */
HC_ON_DEVICE void hc_dk_attention_merge_body(const struct hc_call *c)
{
    const struct hc_tensor *a = &c->in[HC_MERGE_A];
    int64_t n = a->shape[2];
    for (int64_t row = hc_block(); row < a->shape[0] * a->shape[1]; row += hc_blocks()) {
        float la = hc_dk_load(&c->in[HC_MERGE_LA], row);
        float lb = hc_dk_load(&c->in[HC_MERGE_LB], row);
        float max = fmaxf(la, lb);
        bool dead = la == -INFINITY && lb == -INFINITY;
        float wa = expf(la - max);
        float wb = expf(lb - max);
        if (hc_thread() == 0)
            hc_dk_store(&c->out[HC_MERGE_LSE], row, dead ? la : max + logf(wa + wb));
        for (int64_t i = row * n + hc_thread(); i < (row + 1) * n; i += hc_threads()) {
            float sum = wa * hc_dk_load(a, i) + wb * hc_dk_load(&c->in[HC_MERGE_B], i);
            hc_dk_store(&c->out[HC_MERGE_Y], i, dead ? 0 : sum / (wa + wb));
        }
    }
}
HC_LAUNCHABLE(attention_merge, struct hc_call)

HC_ON_DEVICE void hc_dk_attention_merge_bwd_body(const struct hc_call *c)
{
    const struct hc_tensor *a = &c->in[HC_MERGE_A];
    int64_t n = a->shape[2];
    for (int64_t row = hc_block(); row < a->shape[0] * a->shape[1]; row += hc_blocks()) {
        float lse = hc_dk_load(&c->in[HC_MERGE_BWD_LSE], row);
        float dlse = hc_dk_load(&c->in[HC_MERGE_BWD_DLSE], row);
        bool dead = lse == -INFINITY;
        float pa = dead ? 0 : expf(hc_dk_load(&c->in[HC_MERGE_LA], row) - lse);
        float pb = dead ? 0 : expf(hc_dk_load(&c->in[HC_MERGE_LB], row) - lse);
        float sum = 0;
        for (int64_t i = row * n + hc_thread(); i < (row + 1) * n; i += hc_threads()) {
            float dy = hc_dk_load(&c->in[HC_MERGE_BWD_DY], i);
            sum += dy * (hc_dk_load(a, i) - hc_dk_load(&c->in[HC_MERGE_B], i));
            hc_dk_store(&c->out[HC_MERGE_BWD_DA], i, pa * dy);
            hc_dk_store(&c->out[HC_MERGE_BWD_DB], i, pb * dy);
        }
        sum = hc_dk_block_sum(sum, (float *)hc_shared());
        if (hc_thread() != 0)
            continue;
        hc_dk_store(&c->out[HC_MERGE_BWD_DLA], row, pa * (pb * sum + dlse));
        hc_dk_store(&c->out[HC_MERGE_BWD_DLB], row, pb * (dlse - pa * sum));
    }
}
HC_LAUNCHABLE(attention_merge_bwd, struct hc_call)
