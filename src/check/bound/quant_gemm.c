/* gemm_q: pieces of sums of products (sum.c), each with its scales, and what stands around them.

   Piece p of n_p terms has the real sum P, the magnitudes S of its products, which are exact, and
   the scales x and y of a and of b. The computed sum errs by at most g S, g = hc_bound_growth of
   its additions in the accumulator. fl(P x) is one rounding; acc = fma(., y, acc) is one more, of
   the whole accumulator, for this piece and for each that follows. So what piece p adds meets
   1 + (q - p) + 1 roundings, where q is the number of pieces, and is off by at most
     T ((1 + g) (1 + u)^(q - p + 2) - 1),   T = S |x y|.
   Below fp32's normal numbers each rounding may lose 2^-150 on top, the first one times |y|; what
   is lost so meets the later roundings, too, for which (1 + 2 q u) stands.

   Then come ta tb, which is rounded once, or loses 2^-150 of the accumulator; its product, and C's
   sum: one rounding each.

   The order of the products with the scales is stated, since P x may overflow or underflow where
   P x y does not: where it may, the bound is infinite, as where the sum or ta tb may. Pieces that
   are NaN or infinite by definition decide the result alone. */
#include <math.h>

#include "check/bound/products.h"

/* What a piece's rounding loses at the bottom of fp32. */
#define LEAST 0x1p-150

static double scale_of(const struct hc_tensor *scales, int64_t row, int64_t column,
                       const int64_t block[2])
{
    int64_t down = block[0] > 0 ? row / block[0] : 0;
    int64_t across = block[1] > 0 ? column / block[1] : 0;
    return fabs(hc_tensor_get(scales, down * scales->shape[1] + across));
}

/* The size of a factor. A unit that aligns products by their exponents takes a subnormal number's
   for that of the smallest normal one (check/raised.h), and so cuts as if it were that. */
static double size_of(const struct hc_tensor *t, int64_t i, bool raises)
{
    double size = fabs(hc_tensor_get(t, i));
    double least = raises ? ldexp(1, hc_formats[t->format].emin) : 0;
    return size > 0 && size < least ? least : size;
}

/* The magnitudes of an element's products from term `from` on to `end`: infinite or NaN where one
   of them is. */
static double products_of(const struct hc_element *e, bool raises, int64_t from, int64_t end)
{
    const struct hc_tensor *a = &e->call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &e->call->in[HC_GEMM_Q_B];
    int64_t m = e->index / b->shape[0] * a->shape[1];
    int64_t n = e->index % b->shape[0] * a->shape[1];
    double sum = 0;
    for (int64_t i = from; i < end; i++)
        sum += size_of(a, m + i, raises) * size_of(b, n + i, raises);
    return sum;
}

/* What has been added up. */
struct sums {
    double error;
    double magnitude; /* of what is computed */
    bool leaves;      /* fp32 may be left on the way */
};

static void add_piece(struct sums *s, double magnitude, const double scale[2], double growth,
                      double later)
{
    double u = hc_format_unit(HC_FP32);
    double most = hc_format_max(HC_FP32);
    double term = magnitude * scale[0] * scale[1];
    if (!isfinite(magnitude) || !isfinite(scale[0]) || !isfinite(scale[1]))
        return;
    double relative = expm1(log1p(growth) + (later + 2) * log1p(u));
    s->leaves |= magnitude * scale[0] * (1 + growth) * (1 + u) > most;
    s->error += relative * term + LEAST * (scale[1] + 1) * (1 + 2 * (later + 1) * u);
    s->magnitude += term * (1 + relative) + LEAST * (scale[1] + 1);
    s->leaves |= s->magnitude > most;
}

static struct sums sum_of(const struct hc_element *e, const struct hc_accumulator *accumulator)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm_q *p = &call->params.gemm_q;
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    int64_t m = e->index / b->shape[0];
    int64_t n = e->index % b->shape[0];
    int64_t k = a->shape[1];
    struct sums s = {0};
    int64_t pieces = 0;
    for (int64_t from = 0; from < k; from = hc_gemm_q_piece_end(p, from, k))
        pieces++;
    for (int64_t from = 0, end; from < k; from = end) {
        double additions;
        end = hc_gemm_q_piece_end(p, from, k);
        (void)hc_bound_products(call, accumulator, (double)(end - from), &additions);
        const double scale[] = {
            scale_of(&call->in[HC_GEMM_Q_A_SCALES], m, from, (int64_t[]){p->a_rows, p->a_columns}),
            scale_of(&call->in[HC_GEMM_Q_B_SCALES], n, from, (int64_t[]){p->b_rows, p->b_columns})};
        add_piece(&s, products_of(e, accumulator->aligns_subnormals, from, end), scale,
                  hc_bound_growth_of(call, accumulator, additions), (double)--pieces);
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
