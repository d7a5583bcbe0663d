/* Softmax cross-entropy. The largest logit is subtracted as the contract says. This changes no
   value of finite logits, and infinite ones give what the contract says. */
#include "reference/kept.h"
#include "reference/split.h"

/* The largest logit of a row, and the sum over its columns k of exp(z_k - max z). */
static void sum_of_row(mpfr_t sum, mpfr_t most, const struct hc_call *call, int64_t row)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t columns = z->shape[1];
    double largest = hc_tensor_get(z, row * columns);
    mpfr_t shifted;
    for (int64_t k = 1; k < columns; k++) {
        double v = hc_tensor_get(z, row * columns + k);
        if (v > largest)
            largest = v;
    }
    mpfr_init2(shifted, mpfr_get_prec(sum));
    mpfr_set_d(most, largest, MPFR_RNDN);
    mpfr_set_zero(sum, 1);
    for (int64_t k = 0; k < columns; k++) {
        hc_load_real(shifted, z, row * columns + k);
        mpfr_sub(shifted, shifted, most, MPFR_RNDN);
        mpfr_exp(shifted, shifted, MPFR_RNDN);
        mpfr_add(sum, sum, shifted, MPFR_RNDN);
    }
    mpfr_clear(shifted);
}

/* sum = the sum over the columns k of a row of exp(z_k - max z); shifted = z_j - max z. */
static void softmax_sum(mpfr_t sum, mpfr_t shifted, const struct hc_call *call, int64_t row,
                        int64_t j)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    mpfr_t most;
    mpfr_init2(most, mpfr_get_prec(sum));
    hc_channel(sum, most, call, row, sum_of_row);
    hc_load_real(shifted, z, row * z->shape[1] + j);
    mpfr_sub(shifted, shifted, most, MPFR_RNDN);
    mpfr_clear(most);
}

/* The number of rows whose label is the index of the largest logit, the first of equal ones. A NaN
   is never the largest. */
static long correct_rows(const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t columns = z->shape[1];
    long correct = 0;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        int64_t best = -1;
        for (int64_t j = 0; j < columns; j++) {
            double v = hc_tensor_get(z, row * columns + j);
            if (v == v && (best < 0 || v > hc_tensor_get(z, row * columns + best)))
                best = j;
        }
        correct += best == (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row);
    }
    return correct;
}

hc_reference hc_reference_xent;
void hc_reference_xent(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    mpfr_t loss;
    mpfr_t sum;
    mpfr_t shifted;
    mpfr_inits2(precision, loss, sum, shifted, (mpfr_ptr)0);
    mpfr_set_zero(loss, 1);
    int64_t rows = e->out == HC_XENT_CORRECT ? 0 : z->shape[0]; /* of which the loss is made */
    for (int64_t row = 0; row < rows; row++) {
        softmax_sum(sum, shifted, call, row,
                    (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row));
        mpfr_log(sum, sum, MPFR_RNDN);
        mpfr_sub(sum, sum, shifted, MPFR_RNDN);
        mpfr_add(loss, loss, sum, MPFR_RNDN);
    }
    if (!call->params.xent.sum)
        mpfr_div_si(loss, loss, (long)z->shape[0], MPFR_RNDN);
    if (e->out == HC_XENT_CORRECT)
        mpfr_set_si(loss, correct_rows(call), MPFR_RNDN);
    hc_split(loss, want);
    mpfr_clears(loss, sum, shifted, (mpfr_ptr)0);
}

hc_reference hc_reference_xent_bwd;
void hc_reference_xent_bwd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t row = e->index / z->shape[1];
    int64_t j = e->index % z->shape[1];
    mpfr_t sum;
    mpfr_t p;
    mpfr_inits2(precision, sum, p, (mpfr_ptr)0);
    softmax_sum(sum, p, call, row, j);
    mpfr_exp(p, p, MPFR_RNDN);
    mpfr_div(p, p, sum, MPFR_RNDN);
    if ((int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row) == j)
        mpfr_sub_si(p, p, 1, MPFR_RNDN);
    mpfr_mul_d(p, p, hc_tensor_get(&call->in[HC_XENT_UPSTREAM], 0), MPFR_RNDN);
    if (!call->params.xent.sum)
        mpfr_div_si(p, p, (long)z->shape[0], MPFR_RNDN);
    hc_split(p, want);
    mpfr_clears(sum, p, (mpfr_ptr)0);
}
