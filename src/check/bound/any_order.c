/* Formulas in any order: what optimizers share, ops of a few roundings, and convolutions.

   An evaluation of a polynomial in any order, with products fused into sums or not, with a bracket
   multiplied out or not, gives each monomial of the expanded polynomial times (1 + d) for each
   rounding that it meets. So the error depends on the magnitudes of the monomials and on how many
   roundings lie between an operand and the result (hc_ball_any_order), and not on the order. The
   numbers below count the operations of the longest usual form, and a rounding for each
   coefficient. Fewer roundings, or finer ones, err less. */
#include <math.h>

#include "check/bound/any_order.h"
#include "num/ulp.h"
#include "check/bound/rules.h"

static struct hc_ball product(double x, double y)
{
    return hc_ball_mul(HC_REAL, hc_ball_exact(x), hc_ball_exact(y));
}

/* (1 + u)^k - 1. */
static double growth(enum hc_format f, int k)
{
    return hc_ball_any_order(f, hc_ball_exact(1), 1, k, 0).rad;
}

/* beta old + share term, whose monomials meet, r roundings being those of the term itself:

     both products     old and term their coefficient, a product and a sum. One coefficient may be 1
                       minus the other, which has been rounded: that adds u share to beta.
     from old on       old + share (term - old), and what it is with the bracket multiplied out: old
                       meets two sums; share term and share old the coefficient, a product, and a
                       difference and a sum or two sums.
     from term on      term + beta (old - term), where share is large: the same from the other end,
                       where beta may come from share, as above.

   The error is that of the worst. Where a difference is one of infinities, nothing is promised. A
   product may underflow; so may a sum of numbers that have more bits than a format of 16. */
struct hc_ball hc_any_average(enum hc_format f, const struct hc_average *a)
{
    struct hc_ball x = hc_ball_add(HC_REAL, hc_ball_mul(HC_REAL, a->beta, hc_ball_exact(a->old)),
                                   hc_ball_mul(HC_REAL, a->share, a->term));
    int r = a->roundings;
    double beta = fabs(a->beta.mid);
    double share = fabs(a->share.mid);
    bool from_term = share > 0.499 && !a->from_old;
    double old = fabs(a->old);
    double other = growth(f, 1) * (1 + growth(f, 3)) * share;
    double all = fmax(2 * beta + share, 1 + share) * old + (1 + beta) * a->magnitude;
    double error =
        growth(f, 3) * beta * old + growth(f, 3 + r) * share * a->magnitude + other * old;
    error = fmax(error, (growth(f, 2) + growth(f, 4) * share) * old +
                            growth(f, 4 + r) * share * a->magnitude);
    if (from_term)
        error = fmax(error, (growth(f, 2 + r) + growth(f, 4 + r) * beta + other) * a->magnitude +
                                (growth(f, 4) * beta + other) * old);
    bool narrow = f != HC_FP32 && f != HC_FP64;
    int products = a->roundings + (narrow ? 6 : 2);
    bool exact = isinf(x.mid) && isfinite(x.rad);
    x.rad += error * (1 + 0x1p-40);
    if (all > 0)
        x.rad += products * hc_half_ulp(f, 0) * fmax(1, a->after);
    if (narrow)
        x.rad += products * hc_half_ulp(HC_FP32, 0) * fmax(1, a->after);
    bool overflows = isfinite(a->term.mid) && !(a->magnitude <= hc_format_max(f));
    if (exact)
        x = hc_ball_exact(x.mid);
    else if (!(all + x.rad <= hc_format_max(f)))
        x.rad = (double)INFINITY;
    if (isinf(a->old) || (from_term && isinf(a->term.mid)) || overflows)
        x.rad = (double)INFINITY;
    return x;
}

struct hc_ball hc_any_moment(enum hc_format f, double beta, double old, struct hc_ball term,
                             double magnitude, int roundings, double after)
{
    const struct hc_average a = {
        .beta = hc_ball_exact(beta),
        .share = hc_ball_sub(HC_REAL, hc_ball_exact(1), hc_ball_exact(beta)),
        .old = old,
        .term = term,
        .magnitude = magnitude,
        .roundings = roundings,
        .after = after,
    };
    return hc_any_average(f, &a);
}

/* w - decay w - u, where w meets three roundings: the coefficient 1 - decay, the product with it,
   and the last sum. decay w may meet twice as many: lr, weight_decay, two products, two sums. */
struct hc_ball hc_any_weight(enum hc_format f, struct hc_ball w, double decay, struct hc_ball u)
{
    struct hc_ball x = hc_ball_sub(HC_REAL, hc_ball_of(w.mid, 0), product(decay, w.mid));
    x = hc_ball_sub(HC_REAL, x, u);
    x.rad = u.rad + w.rad + fabs(w.lo) + fabs(decay) * (w.rad + fabs(w.lo));
    double magnitude = fabs(w.mid) + 3 * fabs(decay * w.mid) + fabs(u.mid) + x.rad;
    return hc_ball_any_order(f, x, magnitude, decay == 0 ? 1 : 3, 1);
}

double hc_any_compensated(const struct hc_element *e, enum hc_format f, bool want_c,
                          const struct hc_tensor *compensation, double decay, struct hc_ball u)
{
    double w = hc_tensor_get(&e->call->in[HC_FIRST], e->index);
    double c = hc_tensor_get(compensation, e->index);
    struct hc_ball x = hc_ball_of(u.mid + decay * w, u.rad);
    /* c may be added to the weight before the update is. */
    double magnitude = fabs(u.mid) + u.rad + 2 * fabs(decay * w) + fabs(w) + fabs(c);
    x = hc_ball_any_order(f, x, magnitude, 3, 1);
    return hc_bound_compensated(e, f, want_c, hc_ball_exact(w), hc_ball_exact(c), x);
}

/* alpha x may be rounded before y is added. */
double hc_bound_any_axpy(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)accumulator;
    double alpha = (double)(float)call->params.axpy.alpha;
    double product = alpha * hc_tensor_get(&call->in[HC_X], e->index);
    bool exact = hc_round(HC_FP32, product) == product && want->lo == 0 &&
                 hc_round(HC_FP32, want->hi) == want->hi;
    struct hc_ball x = hc_ball_of(want->hi, 0);
    /* y meets the sum alone, one of two roundings */
    double magnitude = fabs(product) + fabs(hc_tensor_get(&call->in[HC_Y], e->index)) / 2;
    if (isfinite(product) && !(fabs(product) <= hc_format_max(HC_FP32)))
        return (double)INFINITY;
    return exact ? 0 : hc_ball_any_order(HC_FP32, x, magnitude, 2, 1).rad;
}

/* max_norm / (sqrt(s) + 1e-6) meets five roundings: the root, or the constant 1e-6, of which one is
   most of the sum; the sum; a reciprocal and a product with it; and the constant max_norm. The
   reference has three of the contract's: its root, its sum and its quotient. */
double hc_bound_any_clip(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    const struct hc_tensor *overflowed = &e->call->in[HC_CLIP_OVERFLOWED];
    (void)accumulator;
    if (overflowed->data && hc_tensor_get(overflowed, 0) != 0)
        return 0;
    struct hc_ball x = hc_ball_of(want->hi, 0);
    return hc_ball_any_order(HC_FP32, x, fabs(want->hi), 8, 1e6).rad;
}

/* dy may be multiplied by 1 / window^2, which is rounded. */
double hc_bound_any_pool_bwd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    (void)accumulator;
    struct hc_ball x = hc_ball_of(want->hi, 0);
    int window = e->call->params.pool.window;
    if ((window & (window - 1)) == 0) /* which is then exact */
        return hc_bound_rounding_to_fp32(e, want);
    return hc_ball_any_order(hc_bound_work(e->call), x, fabs(want->hi), 2, 1).rad;
}

struct hc_polynomial hc_polynomial_of(struct hc_ball x)
{
    double most = fabs(x.mid) + x.rad;
    return (struct hc_polynomial){.value = hc_ball_exact(x.mid),
                                  .magnitude = most,
                                  .largest = most,
                                  .error = x.rad + fabs(x.lo),
                                  .finite = isfinite(x.mid)};
}

struct hc_polynomial hc_polynomial_scaled(double by, struct hc_polynomial x)
{
    if (by == 0)
        return (struct hc_polynomial){.finite = x.finite};
    double magnitude = fabs(by) * x.magnitude;
    return (struct hc_polynomial){.value = hc_ball_mul(HC_REAL, hc_ball_exact(by), x.value),
                                  .magnitude = magnitude,
                                  .largest = fmax(x.largest, magnitude),
                                  .error = fabs(by) * x.error,
                                  .roundings = x.roundings + 2,
                                  .weighted = fabs(by) * (x.weighted + 2 * x.magnitude),
                                  .finite = x.finite};
}

struct hc_polynomial hc_polynomial_sum(struct hc_polynomial x, struct hc_polynomial y)
{
    bool finite = x.finite && y.finite;
    if (x.magnitude == 0 || y.magnitude == 0) {
        struct hc_polynomial other = x.magnitude == 0 ? y : x;
        other.finite = finite;
        return other;
    }
    double magnitude = x.magnitude + y.magnitude;
    return (struct hc_polynomial){.value = hc_ball_add(HC_REAL, x.value, y.value),
                                  .magnitude = magnitude,
                                  .largest = fmax(fmax(x.largest, y.largest), magnitude),
                                  .error = x.error + y.error,
                                  .roundings =
                                      (x.roundings > y.roundings ? x.roundings : y.roundings) + 1,
                                  .weighted = x.weighted + y.weighted + magnitude,
                                  .finite = finite};
}

/* A monomial m that meets k of at most K roundings errs by t(k) |m|, t(k) = (1 + u)^k - 1, which is
   at most t(K) (k / K) |m|, since t is convex. What is not computed at all may still be rounded
   into f. */
struct hc_ball hc_polynomial_ball(enum hc_format f, struct hc_polynomial x, double after)
{
    bool held = hc_round(f, x.value.mid) == x.value.mid;
    int roundings = x.roundings == 0 && !held ? 1 : x.roundings;
    double magnitude = x.roundings > 0 ? x.weighted / x.roundings : x.magnitude;
    struct hc_ball value = x.value;
    value.rad = x.error; /* what the pair loses is less than is counted below */
    struct hc_ball b = hc_ball_any_order(f, value, magnitude, roundings, after);
    bool overflows = x.finite && !(x.largest * 1.0001 <= hc_format_max(f));
    return overflows ? hc_ball_of(b.mid, (double)INFINITY) : b;
}

/* Convolutions in any order. The contract says that a product with padding is no term of the sum,
   and so do libraries that test each pixel. A kernel that writes the image's patches into a matrix
   (im2col), or pads the image before, has a zero there, and multiplies it. So does one that spreads
   gradients by a stride, at the pixels between them. A product of a finite factor with 0 adds
   nothing; of an infinite one, or a NaN, it is NaN. There nothing is promised. */

/* Where an element stands in its tensor. */
struct place {
    int64_t i[4];
};

static struct place place_of(const struct hc_tensor *t, int64_t index)
{
    struct place to;
    for (int d = 3; d >= 0; d--) {
        to.i[d] = index % t->shape[d];
        index /= t->shape[d];
    }
    return to;
}

static bool is_finite(const struct hc_tensor *t, int64_t i, int64_t j, int64_t k, int64_t l)
{
    int64_t at = ((i * t->shape[1] + j) * t->shape[2] + k) * t->shape[3] + l;
    return isfinite(hc_tensor_get(t, at));
}

static bool inside(int64_t i, int64_t extent)
{
    return i >= 0 && i < extent;
}

/* Whether output pixel p sees a pixel of the image at distance r from its window's begin. */
static bool sees(const struct hc_conv *conv, int64_t p, int64_t r, int64_t extent)
{
    return inside(p * conv->stride + r - conv->pad, extent);
}

static bool forward_meets(const struct hc_call *call, struct place y)
{
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    const struct hc_conv *conv = &call->params.conv;
    for (int64_t r = 0; r < w->shape[1]; r++)
        for (int64_t s = 0; s < w->shape[2]; s++) {
            bool pixel = sees(conv, y.i[1], r, x->shape[1]) && sees(conv, y.i[2], s, x->shape[2]);
            for (int64_t c = 0; !pixel && c < w->shape[3]; c++)
                if (!is_finite(w, y.i[3], r, s, c))
                    return true;
        }
    return false;
}

/* Whether a gradient stands where weight r of the filter meets pixel i of the image. */
static bool has_gradient(const struct hc_conv *conv, int64_t i, int64_t r, int64_t extent)
{
    int64_t p = i + conv->pad - r;
    return p % conv->stride == 0 && inside(p / conv->stride, extent);
}

static bool data_meets(const struct hc_call *call, struct place x)
{
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_DATA_DY];
    const struct hc_tensor *w = &call->in[HC_CONV_BWD_DATA_W];
    const struct hc_conv *conv = &call->params.conv;
    for (int64_t r = 0; r < w->shape[1]; r++)
        for (int64_t s = 0; s < w->shape[2]; s++) {
            bool gradient = has_gradient(conv, x.i[1], r, dy->shape[1]) &&
                            has_gradient(conv, x.i[2], s, dy->shape[2]);
            for (int64_t k = 0; !gradient && k < w->shape[0]; k++)
                if (!is_finite(w, k, r, s, x.i[3]))
                    return true;
        }
    return false;
}

static bool filter_meets(const struct hc_call *call, struct place w)
{
    const struct hc_tensor *x = &call->in[HC_CONV_BWD_FILTER_X];
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_FILTER_DY];
    const struct hc_conv *conv = &call->params.conv;
    for (int64_t p = 0; p < dy->shape[1]; p++)
        for (int64_t q = 0; q < dy->shape[2]; q++) {
            bool pixel = sees(conv, p, w.i[1], x->shape[1]) && sees(conv, q, w.i[2], x->shape[2]);
            for (int64_t n = 0; !pixel && n < dy->shape[0]; n++)
                if (!is_finite(dy, n, p, q, w.i[0]))
                    return true;
        }
    return false;
}

double hc_bound_any_conv(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    struct place at = place_of(&call->out[e->out], e->index);
    bool meets = call->op == HC_OP_conv2d            ? forward_meets(call, at)
                 : call->op == HC_OP_conv2d_bwd_data ? data_meets(call, at)
                                                     : filter_meets(call, at);
    return meets ? (double)INFINITY : hc_bound_conv(e, accumulator, want);
}
