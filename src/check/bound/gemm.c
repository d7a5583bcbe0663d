/* gemm: a sum of products (sum.c), and what stands around it, alpha and beta C. Below it,
   gemm_q. */
#include <math.h>

#include "check/bound/products.h"
#include "num/ulp.h"

/* The magnitudes of an element's products, which alpha = 0 hides in the result's. */
static double products_of(const struct hc_element *e)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    const int64_t *shape = call->out[HC_GEMM_OUT].shape;
    int64_t k = a->shape[call->params.gemm.transpose_a ? 0 : 1];
    int64_t i = e->index / shape[1];
    int64_t j = e->index % shape[1];
    double sum = 0;
    for (int64_t t = 0; t < k; t++)
        sum += fabs(hc_tensor_get(a, call->params.gemm.transpose_a ? t * shape[0] + i : i * k + t) *
                    hc_tensor_get(b, call->params.gemm.transpose_b ? j * k + t : t * shape[1] + j));
    return sum;
}

/* Whether alpha is 0 and the products' sum, with its relative error, is at most `most`: then what
   alpha = 0 multiplies is no infinity. */
static bool leaves_out(const struct hc_element *e, double alpha, double relative, double most)
{
    const struct hc_call *call = e->call;
    return alpha == 0 && call->in[HC_GEMM_A].data && call->in[HC_GEMM_B].data &&
           products_of(e) * (1 + relative) * (1 + 0x1p-20) <= most;
}

/* Sums in fp16. Each product and each partial sum is rounded to fp16, or cut, and errs by U: U = u
   to nearest, 2 u where the device cuts. Where it cuts, no term meets more than n errors, which
   come to (1 + U)^n - 1 of S; to nearest, one after the other, they come to n u (Jeannerod and
   Rump). The rest is as in fp32, and C is rounded, too. A product below fp16's normal numbers loses
   less than the smallest of them; sums there are exact. Of products that alpha = 0 leaves out
   nothing errs, nor does the addition of their 0: what is left is to round C and beta C. The bound
   is infinite where a partial sum, alpha's multiple or C may leave fp16. */
static double half_gemm(const struct hc_element *e, const struct hc_accumulator *accumulator,
                        const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm *p = &call->params.gemm;
    double n = hc_call_length(call);
    double u = hc_format_unit(HC_FP16);
    double alpha = fabs(hc_round(HC_FP16, p->alpha));
    double beta = p->beta != 0 ? fabs(hc_round(HC_FP16, p->beta)) : 1;
    double tail = (n > 0 && alpha != 1) + (p->beta != 0 ? 3 : 0);
    double each = log1p(accumulator->truncates ? 2 * u : u);
    double sum = accumulator->truncates ? expm1(n * each) : n * u;
    double relative = sum + (1 + sum) * expm1(tail * each);
    double lost = (n * fmax(alpha, 1) + tail) * hc_format_tiny(HC_FP16);
    double of_c = expm1((p->beta != 0 ? 2 : 0) * each);
    double error = (alpha == 0 ? of_c : relative) * want->magnitude + (1 + relative) * lost;
    double most = hc_format_max(HC_FP16);
    double scale = leaves_out(e, alpha, sum, most) ? 1 : alpha;
    double largest = most * fmin(fmin(scale, beta), 1);
    return hc_bound_in_range(error, want->magnitude, largest);
}

static double alpha_of(const struct hc_gemm *p)
{
    return fabs(hc_single(p->alpha, p->as_given));
}

/* What a C that the sum begins with loses of itself: it has fp32's 24 bits, and where an
   accumulator has fewer it is cut once, by less than 2^(1 - precision - extra_bits). Below fp32's
   normal numbers it loses less than the accumulator's smallest number, which is
   2^-(125 + precision), and what the exponent of a zero cuts off is less than another of these. */
static double begun(const struct hc_accumulator *a, double *lost)
{
    int bits = a->precision + a->extra_bits;
    if (bits >= hc_formats[HC_FP32].precision)
        return 0;
    *lost += 2 * ldexp(1, -125 - a->precision);
    return ldexp(1, 1 - bits);
}

/* The relative error of alpha times the sum, plus beta C, for a sum of so many additions. After it
   come alpha, beta C and the last addition. Each is one rounding, unless it multiplies by 1 or adds
   nothing. beta C may also be what the sum begins with: then the last addition is one of the
   accumulator's, and one more of them. */
static double with_c(const struct hc_call *call, const struct hc_accumulator *accumulator,
                     double additions, double *lost)
{
    const struct hc_gemm *p = &call->params.gemm;
    bool adds = p->beta != 0;
    double tail = (alpha_of(p) != 1) + (adds && p->beta != 1);
    double each = log1p(hc_format_unit(hc_bound_work(call)));
    double last = hc_bound_growth_of(call, accumulator, additions);
    last += hc_bound_cut(call) * (1 + last);
    last += (1 + last) * expm1((tail + adds) * each);
    if (!adds || hc_call_length(call) == 0)
        return last;
    double first = hc_bound_growth_of(call, accumulator, additions + 1);
    first += hc_bound_cut(call) * (1 + first);
    if (hc_bound_in_unit(call))
        first += begun(accumulator, lost) * (1 + first);
    first += (1 + first) * expm1(tail * each);
    return fmax(first, last);
}

/* The relative error of beta C where alpha is 0: to add zeros loses nothing, in whatever order. */
static double of_c_alone(const struct hc_call *call, const struct hc_accumulator *accumulator)
{
    double beta = call->params.gemm.beta;
    double each = log1p(hc_format_unit(hc_bound_work(call)));
    double rounded = expm1((beta != 0 && beta != 1) * each);
    double lost = 0; /* with_c has counted it */
    double first = hc_bound_in_unit(call) ? begun(accumulator, &lost) : 0;
    return rounded + first * (1 + rounded);
}

/* The magnitude is that of the whole result, alpha included. What the products lose by underflow is
   multiplied by alpha. The products' sum must not overflow; with alpha = 0 that is asked of the
   products themselves. */
double hc_bound_gemm(const struct hc_element *e, const struct hc_accumulator *accumulator,
                     const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm *p = &call->params.gemm;
    if (p->half_accumulator)
        return half_gemm(e, accumulator, want);
    double alpha = alpha_of(p);
    double additions;
    double lost =
        hc_bound_products(call, accumulator, hc_call_length(call), &additions) * fmax(alpha, 1);
    double tail = (alpha != 1) + (p->beta != 0) + (p->beta != 0 && p->beta != 1);
    double relative = with_c(call, accumulator, additions, &lost);
    lost += hc_bound_flushed(call, accumulator, relative) * fmax(alpha, 1);
    double error = (alpha == 0 ? of_c_alone(call, accumulator) : relative) * want->magnitude +
                   lost + tail * hc_half_ulp(hc_bound_work(call), 0);
    double most = hc_format_max(hc_bound_work(call));
    if (leaves_out(e, alpha, relative, most))
        alpha = 1;
    return hc_bound_in_range(error, want->magnitude, most * fmin(alpha, 1));
}

/* gemm_q: pieces of sums of products (sum.c), each with its scales, and what stands around them.

   Piece p of n_p terms has the real sum P, the magnitudes S of its products, which are exact, and
   the scales x and y of a and of b. The computed sum errs by at most g S, g = hc_bound_growth of
   its additions in the accumulator. fl(P x) is one rounding; acc = fma(., y, acc) is one more, of
   the whole accumulator, for this piece and for each that follows. So what piece p adds meets
   1 + (q - p) + 1 roundings, where q is the number of pieces, and is off by at most
     T ((1 + g) (1 + u)^(q - p + 2) - 1),   T = S |x y|.
   Below fp32's normal numbers each rounding may lose 2^-150 on top, the first one times |y|; what
   is lost so meets the later roundings, too, for which (1 + 2 q u) stands.

   A unit that takes the scales itself sums products with their scales: T is the sum of their
   magnitudes with these, the piece ends at `promote` alone, and its sum P is added as it is, so
   that it meets (q - p) + 1 roundings, and none where it is the only one. At the bottom of fp32 the
   unit cuts each instruction's result below 2^-149, and its aligned terms, where there is a zero,
   far below (its `block` of terms at 2^-158): 1.25 times 2^-149 for each block.

   Then come ta tb, which is rounded once, or loses 2^-150 of the accumulator; its product, and C's
   sum: one rounding each.

   The order of the products with the scales is stated, since P x may overflow or underflow where
   P x y does not: where it may, the bound is infinite, as where the sum or ta tb may. Pieces that
   are NaN or infinite by definition decide the result alone. */

/* What a piece's rounding loses at the bottom of fp32. */
#define LEAST 0x1p-150

/* The size of a factor. A unit that aligns products by their exponents takes a subnormal number's
   for that of the smallest normal one (check/subnormals.h), and so cuts as if it were that. */
static double size_of(const struct hc_tensor *t, int64_t i, bool raises)
{
    double size = fabs(hc_tensor_get(t, i));
    double least = raises ? ldexp(1, hc_formats[t->format].emin) : 0;
    return size > 0 && size < least ? least : size;
}

/* The size of the scale of a factor's block. */
static double scale_of(const struct hc_element *e, int factor, int64_t term, bool raises)
{
    const struct hc_gemm_q *p = &e->call->params.gemm_q;
    bool first = factor == HC_GEMM_Q_A;
    const struct hc_tensor *t = &e->call->in[first ? HC_GEMM_Q_A_SCALES : HC_GEMM_Q_B_SCALES];
    int64_t n = e->call->in[HC_GEMM_Q_B].shape[0];
    int64_t row = first ? e->index / n : e->index % n;
    int64_t rows = first ? p->a_rows : p->b_rows;
    int64_t columns = first ? p->a_columns : p->b_columns;
    int64_t down = rows > 0 ? row / rows : 0;
    int64_t across = columns > 0 ? term / columns : 0;
    return size_of(t, down * t->shape[1] + across, raises);
}

/* The magnitudes of an element's products from term `from` on to `end`, with their scales where the
   unit takes them: infinite or NaN where one of them is. */
static double products_between(const struct hc_element *e, const struct hc_accumulator *accumulator,
                               int64_t from, int64_t end)
{
    bool raises = accumulator->aligns_subnormals;
    const struct hc_tensor *a = &e->call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &e->call->in[HC_GEMM_Q_B];
    int64_t m = e->index / b->shape[0] * a->shape[1];
    int64_t n = e->index % b->shape[0] * a->shape[1];
    double sum = 0;
    for (int64_t i = from; i < end; i++) {
        double product = size_of(a, m + i, raises) * size_of(b, n + i, raises);
        if (accumulator->takes_scales)
            product *= scale_of(e, HC_GEMM_Q_A, i, raises) * scale_of(e, HC_GEMM_Q_B, i, raises);
        sum += product;
    }
    return sum;
}

/* Where the piece that begins at `from` ends. */
static int64_t end_of(const struct hc_call *call, const struct hc_accumulator *accumulator,
                      int64_t from)
{
    const struct hc_gemm_q whole = {.promote = call->params.gemm_q.promote};
    return hc_gemm_q_piece_end(accumulator->takes_scales ? &whole : &call->params.gemm_q, from,
                               call->in[HC_GEMM_Q_A].shape[1]);
}

/* What has been added up. */
struct sums {
    double error;
    double magnitude; /* of what is computed */
    bool leaves;      /* fp32 may be left on the way */
};

struct piece {
    double magnitude;
    double scale[2]; /* outside the sum */
    double growth;
    double roundings; /* that it meets */
    double lost;      /* at the bottom of fp32 */
};

static void add_piece(struct sums *s, const struct piece *p)
{
    double u = hc_format_unit(HC_FP32);
    double most = hc_format_max(HC_FP32);
    double term = p->magnitude * p->scale[0] * p->scale[1];
    if (!isfinite(p->magnitude) || !isfinite(p->scale[0]) || !isfinite(p->scale[1]))
        return;
    double relative = expm1(log1p(p->growth) + p->roundings * log1p(u));
    s->leaves |= p->magnitude * p->scale[0] * (1 + p->growth) * (1 + u) > most;
    s->error += relative * term + p->lost * (1 + 2 * p->roundings * u);
    s->magnitude += term * (1 + relative) + p->lost;
    s->leaves |= s->magnitude > most;
}

/* `later` pieces follow this one. */
static struct piece piece_of(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             int64_t from, double later)
{
    double additions;
    int64_t end = end_of(e->call, accumulator, from);
    (void)hc_bound_products(e->call, accumulator, (double)(end - from), &additions);
    struct piece p = {.magnitude = products_between(e, accumulator, from, end),
                      .scale = {1, 1},
                      .growth = hc_bound_growth_of(e->call, accumulator, additions),
                      .roundings = later + 2};
    if (accumulator->takes_scales) {
        bool only = from == 0 && later == 0;
        p.roundings = only ? 0 : later + 1;
        p.lost = 2.5 * LEAST * ceil((double)(end - from) / accumulator->block);
        return p;
    }
    p.scale[0] = scale_of(e, HC_GEMM_Q_A, from, false);
    p.scale[1] = scale_of(e, HC_GEMM_Q_B, from, false);
    p.lost = LEAST * (p.scale[1] + 1);
    return p;
}

static struct sums sum_of(const struct hc_element *e, const struct hc_accumulator *accumulator)
{
    int64_t k = e->call->in[HC_GEMM_Q_A].shape[1];
    struct sums s = {0};
    int64_t pieces = 0;
    for (int64_t from = 0; from < k; from = end_of(e->call, accumulator, from))
        pieces++;
    for (int64_t from = 0; from < k; from = end_of(e->call, accumulator, from)) {
        struct piece p = piece_of(e, accumulator, from, (double)--pieces);
        add_piece(&s, &p);
    }
    return s;
}

/* The product with ta and tb. */
static void multiply(const struct hc_call *call, struct sums *s)
{
    const struct hc_tensor *ta = &call->in[HC_GEMM_Q_A_TENSOR];
    const struct hc_tensor *tb = &call->in[HC_GEMM_Q_B_TENSOR];
    double u = hc_format_unit(HC_FP32);
    double most = hc_format_max(HC_FP32);
    if ((!ta->data && !tb->data) || call->in[HC_GEMM_Q_A].shape[1] == 0)
        return;
    double factor =
        fabs((ta->data ? hc_tensor_get(ta, 0) : 1) * (tb->data ? hc_tensor_get(tb, 0) : 1));
    double off = (ta->data && tb->data ? factor * u : 0) + LEAST;
    if (!isfinite(factor))
        return;
    s->leaves |= factor + off > most;
    s->error = s->error * factor + s->magnitude * off;
    s->magnitude *= factor + off;
    s->error += u * s->magnitude + LEAST;
    s->magnitude = s->magnitude * (1 + u) + LEAST;
    s->leaves |= s->magnitude > most;
}

double hc_bound_gemm_q(const struct hc_element *e, const struct hc_accumulator *accumulator,
                       const struct hc_exact *want)
{
    const struct hc_tensor *c = &e->call->in[HC_GEMM_Q_C];
    struct sums s = sum_of(e, accumulator);
    (void)want;
    multiply(e->call, &s);
    if (c->data && isfinite(hc_tensor_get(c, e->index))) {
        s.magnitude += fabs(hc_tensor_get(c, e->index));
        s.error += s.magnitude * hc_format_unit(HC_FP32);
        s.leaves |= s.magnitude * (1 + hc_format_unit(HC_FP32)) > hc_format_max(HC_FP32);
    }
    /* the sums above are of fp64's own roundings */
    return s.leaves ? (double)INFINITY : s.error * (1 + 0x1p-20);
}
