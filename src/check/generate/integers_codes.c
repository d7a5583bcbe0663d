/* gemm_q of integers: codes and scales are integers, the scales powers of two, and so are the sums
   of all pieces. */
#include "check/generate/integers.h"

/* Integers up to this are numbers of the format. */
static int32_t largest(enum hc_format format)
{
    return format == HC_E2M1 ? 4 : format == HC_E2M3 ? 7 : 8;
}

static void fill(const struct hc_integers *z, int slot, int32_t most)
{
    int64_t n = hc_tensor_count(&z->call.in[slot]);
    for (int64_t i = 0; i < n; i++)
        z->value[slot][i] = hc_integers_draw(z, slot, i, most);
    hc_integers_set(z, slot, 1);
}

/* 1 or 2, of a tensor 2, or nothing where the slot is absent. */
static void fill_scales(const struct hc_integers *z, int slot)
{
    bool tensor = slot == HC_GEMM_Q_A_TENSOR || slot == HC_GEMM_Q_B_TENSOR;
    int64_t n = z->call.in[slot].data ? hc_tensor_count(&z->call.in[slot]) : 0;
    for (int64_t i = 0; i < n; i++)
        z->value[slot][i] = !tensor && hc_integers_draw(z, slot, i, 1) > 0 ? 1 : 2;
    if (n)
        hc_integers_set(z, slot, 1);
}

static int64_t scale_at(const struct hc_integers *z, int slot, int64_t row, int64_t rows,
                        int64_t column, int64_t columns)
{
    int64_t down = rows > 0 ? row / rows : 0;
    int64_t across = columns > 0 ? column / columns : 0;
    return z->value[slot][down * z->call.in[slot].shape[1] + across];
}

static int64_t sum_at(const struct hc_integers *z, int64_t i, int64_t j)
{
    const struct hc_gemm_q *p = &z->call.params.gemm_q;
    int64_t terms = z->call.in[HC_GEMM_Q_A].shape[1];
    int64_t sum = 0;
    for (int64_t k = 0; k < terms; k++)
        sum += z->value[HC_GEMM_Q_A][i * terms + k] * z->value[HC_GEMM_Q_B][j * terms + k] *
               scale_at(z, HC_GEMM_Q_A_SCALES, i, p->a_rows, k, p->a_columns) *
               scale_at(z, HC_GEMM_Q_B_SCALES, j, p->b_rows, k, p->b_columns);
    return sum;
}

bool hc_integers_gemm_q(struct hc_integers *z)
{
    enum { SCALES = 16 }; /* four of up to 2 */
    const struct hc_call *call = &z->call;
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    int32_t most = hc_integers_factor(z, a->shape[1] * SCALES);
    if (most == 0)
        return false;
    fill(z, HC_GEMM_Q_A, most < largest(a->format) ? most : largest(a->format));
    fill(z, HC_GEMM_Q_B, most < largest(b->format) ? most : largest(b->format));
    if (call->in[HC_GEMM_Q_C].data)
        fill(z, HC_GEMM_Q_C, 8);
    for (int slot = HC_GEMM_Q_A_SCALES; slot <= HC_GEMM_Q_B_TENSOR; slot++)
        fill_scales(z, slot);
    for (int64_t at = 0; at < hc_tensor_count(&call->out[HC_GEMM_Q_OUT]); at++) {
        int64_t sum = sum_at(z, at / b->shape[0], at % b->shape[0]);
        const int factors[] = {HC_GEMM_Q_A_TENSOR, HC_GEMM_Q_B_TENSOR};
        for (int f = 0; f < 2; f++)
            sum *= call->in[factors[f]].data ? z->value[factors[f]][0] : 1;
        if (call->in[HC_GEMM_Q_C].data)
            sum += z->value[HC_GEMM_Q_C][at];
        z->want[HC_GEMM_Q_OUT][at] = (double)sum;
    }
    return true;
}
