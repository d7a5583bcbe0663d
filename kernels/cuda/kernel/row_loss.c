/* Cross-entropy with options, and that of a product x w^T: a block takes a row of logits at a time.
   A target that is no class gives a NaN. Shared memory: a float for every warp. */
#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/defined.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/round.h"

HC_ON_DEVICE int64_t hc_dk_target(const struct hc_dk_row_loss *a, int64_t row)
{
    return ((const int32_t *)a->target.data)[row];
}

HC_ON_DEVICE bool hc_dk_is_class(const struct hc_dk_row_loss *a, int64_t c)
{
    return c >= 0 && c < a->classes;
}

HC_ON_DEVICE float hc_dk_class_weight(const struct hc_dk_row_loss *a, int64_t c)
{
    return !hc_dk_is_class(a, c) ? NAN : a->w.data ? hc_dk_load(&a->w, c) : 1;
}

/* A logit, and the tangent that it is capped by. */
HC_ON_DEVICE float hc_dk_capped(const struct hc_dk_row_loss *a, int64_t i, float *tangent)
{
    float z = a->logits ? a->logits[i] : hc_dk_load(&a->call.in[HC_CE_Z], i);
    *tangent = a->cap > 0 ? tanhf(z / a->cap) : 0;
    return a->cap > 0 ? a->cap * *tangent : z;
}

/* One block: what the sum of the rows is divided by, what all classes share of a row's weight, and
   how many rows count. */
HC_ON_DEVICE void hc_dk_loss_sums_body(const struct hc_dk_row_loss *a)
{
    float *shared = (float *)hc_shared();
    float weights = 0;
    float kept = 0;
    float all = 0;
    for (int64_t n = hc_thread(); n < a->rows; n += hc_threads())
        if (hc_dk_target(a, n) != a->ignore) {
            weights += hc_dk_class_weight(a, hc_dk_target(a, n));
            kept++;
        }
    for (int64_t c = hc_thread(); c < a->classes && a->smoothing > 0; c += hc_threads())
        all += hc_dk_class_weight(a, c);
    weights = hc_dk_block_sum(weights, shared);
    kept = hc_dk_block_sum(kept, shared);
    all = hc_dk_block_sum(all, shared);
    if (hc_thread() != 0)
        return;
    a->sums[HC_DK_DIVISOR] = a->reduction == HC_CE_MEAN  ? weights
                             : a->reduction == HC_CE_SUM ? 1
                                                         : a->total;
    a->sums[HC_DK_SHARED_WEIGHT] = a->smoothing > 0 ? a->smoothing * (all / (float)a->classes) : 0;
    a->sums[HC_DK_KEPT] = kept;
}
HC_LAUNCHABLE(loss_sums, struct hc_dk_row_loss)

/* The maximum of a row, and the sum of exp(z - max), in every thread. A NaN is no maximum, and
   comes back through the sum. */
HC_ON_DEVICE void hc_dk_logits_sum(const struct hc_dk_row_loss *a, int64_t row, float *max,
                                   float *sum)
{
    float *shared = (float *)hc_shared();
    float tangent;
    float largest = -INFINITY;
    float own = 0;
    for (int64_t c = hc_thread(); c < a->classes; c += hc_threads())
        largest = fmaxf(largest, hc_dk_capped(a, row * a->classes + c, &tangent));
    *max = hc_dk_block_max(largest, shared);
    for (int64_t c = hc_thread(); c < a->classes; c += hc_threads())
        own += expf(hc_dk_capped(a, row * a->classes + c, &tangent) - *max);
    *sum = hc_dk_block_sum(own, shared);
}

/* Of a product, log(sum) is added to max - z. */
HC_ON_DEVICE void hc_dk_loss_rows_body(const struct hc_dk_row_loss *a)
{
    for (int64_t row = hc_block(); row < a->rows; row += hc_blocks()) {
        int64_t target = hc_dk_target(a, row);
        bool is_class = hc_dk_is_class(a, target);
        float max;
        float sum;
        float tangent;
        float smooth = 0;
        hc_dk_logits_sum(a, row, &max, &sum);
        float lse = max + logf(sum);
        for (int64_t c = hc_thread(); c < a->classes && a->smoothing > 0; c += hc_threads())
            smooth +=
                hc_dk_class_weight(a, c) * (lse - hc_dk_capped(a, row * a->classes + c, &tangent));
        smooth = hc_dk_block_sum(smooth, (float *)hc_shared());
        if (hc_thread() != 0)
            continue;
        float z = is_class ? hc_dk_capped(a, row * a->classes + target, &tangent) : NAN;
        float loss = a->logits ? logf(sum) + max - z : hc_dk_class_weight(a, target) * (lse - z);
        if (a->smoothing > 0)
            loss = (1 - a->smoothing) * loss + a->smoothing * (smooth / (float)a->classes);
        loss = a->zeta > 0 ? loss + a->zeta * (lse * lse) : loss;
        a->losses[row] = target == a->ignore ? 0 : loss;
        if (!a->logits)
            hc_dk_store(&a->call.out[HC_CE_LSE], row, lse);
    }
}
HC_LAUNCHABLE(loss_rows, struct hc_dk_row_loss)

/* One block. */
HC_ON_DEVICE void hc_dk_loss_total_body(const struct hc_dk_row_loss *a)
{
    float sum = hc_dk_sum_of(a->losses, a->rows, (float *)hc_shared());
    bool none = a->sums[HC_DK_KEPT] == 0 && a->empty_is_zero;
    if (hc_thread() == 0)
        hc_dk_store(&a->call.out[HC_CE_LOSS], 0, none ? 0 : sum / a->sums[HC_DK_DIVISOR]);
}
HC_LAUNCHABLE(loss_total, struct hc_dk_row_loss)

HC_ON_DEVICE void hc_dk_loss_bwd_body(const struct hc_dk_row_loss *a)
{
    const struct hc_call *call = &a->call;
    float k = hc_dk_load(&call->in[HC_CE_BWD_DLOSS], 0) / a->sums[HC_DK_DIVISOR];
    for (int64_t i = hc_dk_first(); i < a->rows * a->classes; i += hc_dk_stride()) {
        int64_t target = hc_dk_target(a, i / a->classes);
        int64_t c = i % a->classes;
        float lse = hc_dk_load(&call->in[HC_CE_BWD_LSE], i / a->classes);
        float w = hc_dk_class_weight(a, c);
        float tangent;
        float p = expf(hc_dk_capped(a, i, &tangent) - lse);
        float f = (1 - a->smoothing) * hc_dk_class_weight(a, target) +
                  a->sums[HC_DK_SHARED_WEIGHT] + 2 * a->zeta * lse;
        float g = f * p - a->smoothing * w / (float)a->classes -
                  (1 - a->smoothing) * (c == target ? w : 0);
        hc_dk_store(&call->out[HC_CE_BWD_DZ], i,
                    target == a->ignore ? 0 : k * g * (1 - tangent * tangent));
    }
}
HC_LAUNCHABLE(loss_bwd, struct hc_dk_row_loss)

/* The logits of a product, a thread for each. */
HC_ON_DEVICE void hc_dk_linear_logits_body(const struct hc_dk_row_loss *a)
{
    const struct hc_tensor *x = &a->call.in[HC_LCE_X];
    int64_t depth = x->shape[1];
    for (int64_t i = hc_dk_first(); i < a->rows * a->classes; i += hc_dk_stride()) {
        float z = 0;
        for (int64_t d = 0; d < depth; d++)
            z += hc_dk_load(x, i / a->classes * depth + d) *
                 hc_dk_load(&a->call.in[HC_LCE_W], i % a->classes * depth + d);
        a->logits[i] = a->stored ? hc_into(x->format, z) : z;
    }
}
HC_LAUNCHABLE(linear_logits, struct hc_dk_row_loss)

/* Their gradients, in their place. */
HC_ON_DEVICE void hc_dk_linear_gradients_body(const struct hc_dk_row_loss *a)
{
    float k = hc_dk_load(&a->call.in[HC_LCE_DLOSS], 0) / a->sums[HC_DK_KEPT];
    for (int64_t row = hc_block(); row < a->rows; row += hc_blocks()) {
        int64_t target = hc_dk_target(a, row);
        float max;
        float sum;
        hc_dk_logits_sum(a, row, &max, &sum);
        for (int64_t c = hc_thread(); c < a->classes; c += hc_threads()) {
            float *z = &a->logits[row * a->classes + c];
            float g = (expf(*z - max) / sum - (c == target ? 1.0f : 0.0f)) * k;
            g = target == a->ignore ? 0 : hc_dk_is_class(a, target) ? g : NAN;
            *z = a->stored ? hc_into(a->call.in[HC_LCE_X].format, g) : g;
        }
    }
}
HC_LAUNCHABLE(linear_gradients, struct hc_dk_row_loss)

/* A thread for each element of dx and dw; dw is rounded after each chunk of rows. */
HC_ON_DEVICE void hc_dk_linear_bwd_body(const struct hc_dk_row_loss *a)
{
    const struct hc_tensor *x = &a->call.in[HC_LCE_X];
    int64_t depth = x->shape[1];
    int64_t of_x = a->rows * depth;
    for (int64_t i = hc_dk_first(); i < of_x + a->classes * depth; i += hc_dk_stride()) {
        int64_t row = (i < of_x ? i : i - of_x) / depth;
        int64_t d = (i < of_x ? i : i - of_x) % depth;
        float all = 0;
        for (int64_t c = 0; c < a->classes && i < of_x; c++)
            all +=
                a->logits[row * a->classes + c] * hc_dk_load(&a->call.in[HC_LCE_W], c * depth + d);
        for (int64_t from = 0; from < a->rows && i >= of_x; from += a->chunk) {
            float sum = 0;
            for (int64_t n = from; n < from + a->chunk && n < a->rows; n++)
                sum += a->logits[n * a->classes + row] * hc_dk_load(x, n * depth + d);
            all = hc_into(x->format, all + sum);
        }
        hc_dk_store(&a->call.out[i < of_x ? HC_LCE_DX : HC_LCE_DW], i < of_x ? i : i - of_x, all);
    }
}
HC_LAUNCHABLE(linear_bwd, struct hc_dk_row_loss)
