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
#include <math.h>

#include "check/bound/products.h"

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
static double products_of(const struct hc_element *e, const struct hc_accumulator *accumulator,
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
    struct piece p = {.magnitude = products_of(e, accumulator, from, end),
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
