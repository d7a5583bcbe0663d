/* Softmax cross-entropy: the definition again, in running error analysis (ball.h). */
#include <math.h>

#include "check/bound/kept.h"
#include "check/bound/rules.h"
#include "reference.h"

static double largest(const struct hc_tensor *z, int64_t row)
{
    double most = hc_tensor_get(z, row * z->shape[1]);
    for (int64_t j = 1; j < z->shape[1]; j++)
        most = fmax(most, hc_tensor_get(z, row * z->shape[1] + j));
    return most;
}

static struct hc_ball shifted(enum hc_format f, const struct hc_tensor *z, int64_t row, int64_t j,
                              double most)
{
    return hc_ball_sub(f, hc_ball_element(z, row * z->shape[1] + j), hc_ball_exact(most));
}

/* In any order exp(x) may be exp2(x L), and log(s) may be l log2(s), L = log2(e) and l = log(2) as
   the nearest numbers of the format, and x L also x / l: the constant is off by as much as is known
   of these two, and the product is rounded. Those of an exponent move it by that of |x|, which the
   exponential's radius grows with. */
static struct hc_ball times_constant(enum hc_format f, struct hc_ball x)
{
    /* fp32: L is 0x1.715476p+0, and too small by 1.7919 2^-27 of itself, l too large by less. fp64:
       L is too small by less, l too small by 1.2054 2^-55 of itself. */
    double constant = f == HC_FP64 ? 0x1.35p-55 : 0x1.cbp-27;
    if (isinf(x.mid))
        return x;
    x.rad += constant * (fabs(x.mid) + x.rad);
    return hc_ball_any_order(f, x, fabs(x.mid) + x.rad, 1, 1);
}

/* A logit of minus infinity has exactly the probability 0. The largest has exactly 1 before it is
   divided: exp(0) and exp2(0) are 1 (C11, F.9.3; also PTX's ex2.approx). */
static struct hc_ball exponential(enum hc_format f, const struct hc_tensor *z, int64_t row,
                                  int64_t j, double most, bool any_order)
{
    struct hc_ball x = shifted(f, z, row, j, most);
    if (hc_tensor_get(z, row * z->shape[1] + j) == most)
        return hc_ball_exact(1);
    if (any_order)
        x = times_constant(f, x);
    return isinf(x.mid) ? hc_ball_exact(exp(x.mid)) : hc_ball_exp(f, x);
}

/* The largest logit of a row, and the sum of its exponentials. */
struct row {
    double most;
    struct hc_ball sum;
};

static struct row sum_of_row(enum hc_format f, const struct hc_tensor *z, int64_t row,
                             bool any_order)
{
    struct hc_ball_sum sum = {0};
    double most = largest(z, row);
    for (int64_t j = 0; j < z->shape[1]; j++)
        hc_ball_term(&sum, exponential(f, z, row, j, most, any_order));
    return (struct row){most, hc_ball_total(f, &sum)};
}

/* The same; found, if it was asked for before in this thread and nobody has changed the call. */
static struct row row_of(const struct hc_call *call, int64_t row, bool any_order)
{
    static _Thread_local struct hc_kept kept[2][HC_KEPT_CHANNELS];
    static _Thread_local struct row rows[2][HC_KEPT_CHANNELS];
    int at = (int)(row % HC_KEPT_CHANNELS);
    if (!hc_is_kept(&kept[any_order][at], hc_reference_promise(call), row))
        rows[any_order][at] =
            sum_of_row(hc_bound_work(call), &call->in[HC_XENT_LOGITS], row, any_order);
    return rows[any_order][at];
}

static struct hc_ball log_of(enum hc_format f, struct hc_ball sum, bool any_order)
{
    struct hc_ball log_sum = hc_ball_log(f, sum);
    return any_order ? times_constant(f, log_sum) : log_sum;
}

static double error_of_loss(const struct hc_element *e, bool any_order)
{
    const struct hc_call *call = e->call;
    if (e->out == HC_XENT_CORRECT) /* a count; exact up to 2^24 rows, in any order */
        return 0;
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    enum hc_format f = hc_bound_work(call);
    struct hc_ball_sum loss = {0};
    for (int64_t row = 0; row < z->shape[0]; row++) {
        struct row r = row_of(call, row, any_order);
        struct hc_ball log_sum = log_of(f, r.sum, any_order);
        int64_t label = (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row);
        hc_ball_term(&loss, hc_ball_sub(f, log_sum, shifted(f, z, row, label, r.most)));
    }
    struct hc_ball total = hc_ball_total(f, &loss);
    if (!call->params.xent.sum)
        total = hc_ball_div(f, total, hc_ball_exact((double)z->shape[0]));
    return total.rad;
}

double hc_bound_xent(const struct hc_element *e, const struct hc_accumulator *accumulator,
                     const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return error_of_loss(e, false);
}

/* A backend may form upstream / N first: the bound is the larger one of both orders. */
double hc_bound_xent_bwd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)accumulator;
    (void)want;
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    enum hc_format f = hc_bound_work(call);
    int64_t row = e->index / z->shape[1];
    int64_t j = e->index % z->shape[1];
    struct row r = row_of(call, row, false);
    struct hc_ball p = hc_ball_div(f, exponential(f, z, row, j, r.most, false), r.sum);
    if ((int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row) == j)
        p = hc_ball_sub(f, p, hc_ball_exact(1));
    struct hc_ball upstream = hc_ball_element(&call->in[HC_XENT_UPSTREAM], 0);
    struct hc_ball n = hc_ball_exact(call->params.xent.sum ? 1 : (double)z->shape[0]);
    return fmax(hc_ball_div(f, hc_ball_mul(f, p, upstream), n).rad,
                hc_ball_mul(f, p, hc_ball_div(f, upstream, n)).rad);
}

/* In any order the sum may be multiplied by 1 / n, which is rounded, or each row's loss may be. */
double hc_bound_any_xent(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    (void)accumulator;
    double error = error_of_loss(e, true);
    if (e->out == HC_XENT_CORRECT)
        return 0;
    struct hc_ball loss = hc_ball_of(want->hi, error);
    return hc_ball_any_order(hc_bound_work(e->call), loss, fabs(want->hi) + error, 3, 1).rad;
}

/* In any order: p may be the exponential of the logarithm (shifted - log sum); upstream and 1 / n,
   which is rounded, may meet p and the 1 that is taken off it apart. */
double hc_bound_any_xent_bwd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    enum hc_format f = hc_bound_work(call);
    int64_t row = e->index / z->shape[1];
    int64_t j = e->index % z->shape[1];
    struct row r = row_of(call, row, true);
    bool label = (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row) == j;
    struct hc_ball quotient = hc_ball_div(f, exponential(f, z, row, j, r.most, true), r.sum);
    struct hc_ball power =
        hc_ball_sub(f, times_constant(f, shifted(f, z, row, j, r.most)), log_of(f, r.sum, true));
    double stated = hc_bound_xent_bwd(e, accumulator, want);
    power = isinf(power.mid) ? hc_ball_exact(0) : hc_ball_exp(f, power);
    double rad = fmax(quotient.rad, power.rad);
    double n = call->params.xent.sum ? 1 : (double)z->shape[0];
    double scale = fabs(hc_tensor_get(&call->in[HC_XENT_UPSTREAM], 0)) / n;
    struct hc_ball x = hc_ball_of((quotient.mid - label) * scale, rad * scale);
    double magnitude = (quotient.mid + rad + label) * scale;
    x = hc_ball_any_order(f, x, magnitude, 5, fmax(1, scale * n));
    return fmax(stated, x.rad);
}
