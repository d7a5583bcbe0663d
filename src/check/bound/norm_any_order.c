/* Batch norm, forward, in any order of evaluation (any_order.c).

   The moments of a channel's n elements x. u is half an ulp of 1, (1 + u)^k - 1 is written t(k);
   mu, V, A and S are the real mean and variance, the largest |x|, and the distance of the largest x
   from the smallest. These are the algorithms of the field. The bound is the largest of what they
   lose.

   In two passes: norm.c.

   In parts. Welford's recurrence and Chan's combination (Chan, Golub and LeVeque, Updating formulae
   and a pairwise algorithm for computing sample variances, 1979) are trees: a leaf is an element,
   and a node of n = a + b leaves has

     mean = mean_a + (mean_b - mean_a) b / n,  or  (a / n) mean_a + (b / n) mean_b
     Q = Q_a + Q_b + (mean_b - mean_a)^2 a b / n,      Q = n times the variance.

   Mean. The first form rounds a difference, a share, a product and a sum: a node errs by at most u
   |mean| + t(4) |d| b / n, d = mean_b - mean_a. The second rounds a reciprocal, two products and a
   sum: t(4) of the magnitudes. A node's error is passed on with the share of its leaves, and a leaf
   has none. So a node errs by at most L = max(t(4) A, u A + t(4) S), A and S of means that are off
   themselves, and two products that may underflow; and the mean of n is off by L / n times the sum,
   over all nodes, of their leaves. That is most where the leaves come one by one, 2 + 3 + ... + n:
   it is off by L g(n), g(n) = (n + 2)(n - 1) / (2 n) = n / 2 + 1 / 2 - 1 / n. This is how far the
   means of parts may be off. The mean of all is nearer. A node of two leaves, of which every tree
   has one, halves exactly and errs by u |mean| and what the difference loses: with t(1) <= t(4) / 4
   it counts 2 / n in g(n) with a quarter, and so g(n) - 3 / (2 n) is left. Then k of n elements lie
   on average no further from mu than sqrt(V n / k), by Cauchy and Schwarz, as their mean does. With
   k times that, the sum over all nodes is at most sqrt(V n) (2^(1/2) + ... + n^(1/2)), less than (2
   / 3) (n + 1)^(3/2) sqrt(V n). The sum of |d| b is at most the root of that of d^2 a b / k, which
   is n V, times the root of that of b k / a. A part that is multiplied by its share has at most
   twice the other's leaves, as in all that we know of. So k / a <= 3, b is at most twice the
   smaller one, and the sum of the smaller ones is at most n log2(n) / 2. In all the mean is off by
   at most

     t(4) (|mu| (g(n) - 3 / (2 n))
           + sqrt(V) ((2 / 3) (n + 1)^(3/2) n^(-1/2) + sqrt(3 log2(n)))).

   Variance. With d the real difference of means in a node, and e how far the computed one is from
   it, the node's term is off by 2 d e w + e^2 w, w = a b / n. The sum of d^2 w over all nodes is
   n V, and so by Cauchy and Schwarz these errors sum up to at most 2 sqrt(n V W) + W, W the sum of
   e^2 w. Since |e| <= L (g(a) + g(b)) = L (n / 2 + 1 - n / (a b)), a b / n <= n / 4 and n / (a b) =
   1 / a + 1 / b <= 2,

     e^2 w <= L^2 (a b n / 4 + a b + a b / n - n - 2 + n / (a b))
           <= L^2 (a b n / 4 + a b - 3 n / 4),

   and the sums over a tree's nodes of a b n / 4 and of a b are (n^3 - n) / 12 and n (n - 1) / 2,
   whatever the tree is: a b n / 4 = (n^3 - a^3 - b^3) / 12, and a b counts pairs of leaves. The sum
   of n over the nodes is at least n log2(n), the shortest way to all leaves. So W <= L^2 n ((n - 1)
   (n + 7) / 12 - 3 log2(n) / 4), which is 0 where there are two elements: their means are exact.

   Welford has (x - old mean)(x - new mean) for d^2 w. The new mean's own error, at most M = u A +
   t(4) S / 2 since its share is at most 1 / 2, is then multiplied with d once more: with w >= 1/2
   the sum of the n - 1 |d| is at most sqrt(2 (n - 1) n V). With H = sqrt(W / n) + M sqrt((n - 1) /
   (2 n)) the variance is off by at most 2 sqrt(V) H + H^2.

   Roundings of the terms: the difference counts twice, a square and four products or quotients. A
   leaf has Q = 0, which is added exactly. So a term meets no more additions than there are leaves
   outside its node, and one: t(n + 6) of V + 2 sqrt(V) H + H^2 in all.

   A part may also be summed in two passes: p elements, whose mean is off by t(p + 1) of the average
   of |x|, which is less than p elements one by one come to (halving is exact, where p is 2), and
   whose variance by the square of that. That is less than the part's share in W where p is 4 or
   more; and where p is 2 or 3, more than it by at most p L^2 / 16 or 0.53 p L^2. So 0.53 n L^2 is
   added to W where n is 4 or more. If n is 3 a part may have two elements. Their W, 0.67 L^2, and
   L^2 / 8 are less than the 1.43 L^2 above.

   Last, Q is multiplied by a rounded 1 / n, as the sum of the squares may be in one pass: two
   roundings more. In two passes that is one more than the division that norm.c counts, for the
   mean, too; in parts and in one pass the mean has its division in what is counted already.

   In one pass, shifted by the channel's first element k. With d = x - k rounded, the mean is k +
   sum d / n, and the variance (sum d^2 - (sum d)^2 / n) / n. With r = sqrt(V + (mu - k)^2), the sum
   of |d| is at most n r: the mean is off by u |mu| + t(n + 3) r. sum d^2 = n r^2 meets n + 2
   roundings (the difference counts twice). sum d = n (mu - k) is off by at most t(n) n r, its
   square by t(2 n) n^2 r |mu - k| + t(n)^2 n^2 r^2, and a square, a quotient by two steps and the
   last difference are rounded: the variance is off by at most t(n + 3) r^2 + t(2 n + 4) r (|mu - k|
   + t(n) r). A shift that is far from all elements, as 0 may be, is not in the field's list: what
   it loses depends on how far it is, and has no bound here.

   Products of counts may come before the division, and sums before that by n: these must be in
   range. What underflows is multiplied by at most n^2 later. */
#include <math.h>

#include "check/bound/any_order.h"
#include "check/bound/norm.h"

/* The same in any order: with x gamma invstd + (beta - mean gamma invstd), say, each of the three
   monomials errs by itself. x and mean meet at most four roundings: a product of invstd and gamma,
   one with that, and two sums, of which one may be their difference; or the difference, both
   products one by one, and a sum. beta meets two sums at most, half as many. */
static struct hc_ball normalized(const struct hc_element *e, int64_t c, struct hc_ball mean,
                                 struct hc_ball invstd)
{
    const struct hc_call *call = e->call;
    struct hc_ball x = hc_ball_element(&call->in[HC_BN_X], e->index);
    struct hc_ball gamma = hc_ball_element(&call->in[HC_BN_GAMMA], c);
    struct hc_ball beta = hc_ball_element(&call->in[HC_BN_BETA], c);
    struct hc_ball alpha = hc_ball_mul(HC_REAL, gamma, invstd);
    struct hc_ball z = hc_ball_mul(HC_REAL, hc_ball_sub(HC_REAL, x, mean), alpha);
    double centre = fabs(x.mid) + fabs(mean.mid) + mean.rad;
    double scale = fabs(alpha.mid) + alpha.rad;
    double after = fmax(centre * fmax(1, fabs(gamma.mid)), fabs(invstd.mid) + invstd.rad);
    z = hc_ball_add(HC_REAL, z, beta);
    z = hc_ball_any_order(hc_bound_work(call), z, centre * scale + fabs(beta.mid) / 2, 4, after);
    bool overflows =
        !(centre * (fabs(invstd.mid) + invstd.rad) <= hc_format_max(hc_bound_work(call)));
    if (overflows || isinf(alpha.mid)) /* then a x + b is inf - inf */
        z.rad = (double)INFINITY;
    return z;
}

/* sqrt may come after the division, eps may be fp64's, and a reciprocal root may be one step: no
   more roundings than five. */
static struct hc_ball inverse_root(enum hc_format f, struct hc_ball variance, double eps)
{
    struct hc_ball invstd = hc_bound_norm_stated.inverse_root(HC_REAL, variance, eps);
    return hc_ball_any_order(f, invstd, fabs(invstd.mid) + invstd.rad, 5, 1);
}

/* A running average whose coefficients may be fp64's 1 - m, or m as it was given. */
static double blended(enum hc_format f, const struct hc_tensor *running, int64_t c,
                      struct hc_ball batch, double momentum)
{
    double r = hc_tensor_get(running, c);
    double m = momentum;
    if (isinf(r))
        return (double)INFINITY;
    const struct hc_average a = {
        .beta = hc_ball_sub(HC_REAL, hc_ball_exact(1), hc_ball_exact(m)),
        .share = hc_ball_exact(m),
        .old = r,
        .term = batch,
        .magnitude = fabs(batch.mid) + batch.rad,
        .after = 1,
        .from_old = true,
    };
    return hc_any_average(f, &a).rad;
}

/* After so many roundings more. */
static struct hc_ball rounded(enum hc_format f, struct hc_ball x, int roundings)
{
    return hc_ball_any_order(f, x, fabs(x.mid) + x.rad, roundings, 1);
}

/* M / (M - 1) may be rounded before it multiplies. */

static struct hc_ball unbiased(enum hc_format f, struct hc_ball variance, int64_t m)
{
    if (m <= 1)
        return variance;
    struct hc_ball by =
        hc_ball_div(HC_REAL, hc_ball_exact((double)m), hc_ball_exact((double)(m - 1)));

    return rounded(f, hc_ball_mul(HC_REAL, variance, by), 2);
}

const struct hc_bound_norm hc_bound_norm_any = {inverse_root, normalized, blended, unbiased};

/* What a channel's elements are, apart from its moments. */
struct spread {
    double count;
    double largest;  /* A */
    double distance; /* S */
    double shift;    /* |mu - k| */
};

static struct spread spread_of(const struct hc_tensor *x, int64_t c, double mean)
{
    int64_t channels = x->shape[x->rank - 1];
    int64_t count = hc_tensor_count(x) / channels;
    double least = hc_tensor_get(x, c);
    double most = least;
    for (int64_t i = c; i < hc_tensor_count(x); i += channels) {
        least = fmin(least, hc_tensor_get(x, i));
        most = fmax(most, hc_tensor_get(x, i));
    }
    return (struct spread){.count = (double)count,
                           .largest = fmax(fabs(least), fabs(most)),
                           .distance = most - least,
                           .shift = fabs(mean - hc_tensor_get(x, c))};
}

/* t(k), where fp64's own rounding of the middle counts with every one; the middle of fp64's numbers
   is a pair. */
static double growth(enum hc_format f, double k)
{
    return expm1(k * log1p(hc_format_unit(f) + (f == HC_FP64 ? 0x1p-90 : 0x1p-52)));
}

/* u A + t(4) S share. The means' errors make A and S larger, by less than 5 n u / 2 and 5 n u of
   the larger one. */
static double error_of_a_move(enum hc_format f, const struct spread *s, double share)
{
    double moved = growth(f, 1) * s->largest + growth(f, 4) * s->distance * share;
    return moved * (1 + growth(f, 6 * s->count)) + 2 * hc_format_tiny(f);
}

/* How far the moments m may be off in parts, */
static struct hc_bound_moments in_parts(enum hc_format f, const struct spread *s,
                                        struct hc_bound_moments m)
{
    double n = s->count;
    double all = (n + 2) * (n - 1) / (2 * n);
    double sigma = sqrt(m.variance.mid);
    double mean = fabs(m.mean.mid) * (all - 1.5 / n) +
                  sigma * (2.0 / 3 * (n + 1) * sqrt((n + 1) / n) + sqrt(3 * log2(n)));
    double weighted = growth(f, 4) * s->largest * (1 + growth(f, 6 * n)) + 2 * hc_format_tiny(f);
    double of_a_node = fmax(weighted, error_of_a_move(f, s, 1));
    double w = (n - 1) * (n + 7) / 12 - 0.75 * log2(n) + (n >= 4 ? 0.53 : 0);
    double h = of_a_node * sqrt(fmax(w, 0)) + error_of_a_move(f, s, 0.5) * sqrt((n - 1) / (2 * n));
    double v = 2 * sigma * h + h * h;
    m.mean.rad = growth(f, 4) * (1 + growth(f, 6 * n)) * mean + 2 * hc_format_tiny(f) * all;
    m.variance.rad = v + growth(f, n + 6) * (m.variance.mid + v);
    m.variance = rounded(f, m.variance, 2);
    return m;
}

/* and in one pass, shifted. */
static struct hc_bound_moments in_one_pass(enum hc_format f, const struct spread *s,
                                           struct hc_bound_moments m)
{
    double n = s->count;
    double r = sqrt(m.variance.mid + s->shift * s->shift);
    double square = s->shift + growth(f, n) * r;
    m.mean.rad = growth(f, 1) * fabs(m.mean.mid) + growth(f, n + 3) * r;
    m.variance.rad = growth(f, n + 3) * r * r + growth(f, 2 * n + 4) * r * square;
    m.variance = rounded(f, m.variance, 2);
    return m;
}

/* In two passes with a product for the division. The variance has the square of the mean's error
   already, but as the division leaves it. */
static struct hc_bound_moments by_reciprocal(enum hc_format f, struct hc_bound_moments m, double n)
{
    double before = m.mean.rad;
    m.mean = rounded(f, m.mean, 1);
    if (isfinite(m.mean.rad))
        m.variance.rad += (m.mean.rad * m.mean.rad - before * before) * (1 + growth(f, n + 4));
    m.variance = rounded(f, m.variance, 1);
    return m;
}

/* The moments in the field's algorithms. A mean of finite numbers and one infinity is that infinity
   in two passes, and NaN where a difference comes first. */
struct hc_bound_moments hc_bound_any_channel(enum hc_format f, const struct hc_tensor *x, int64_t c)
{
    struct hc_bound_moments real = hc_bound_channel(f, x, c);
    struct spread s = spread_of(x, c, real.mean.mid);
    double n = s.count;
    struct hc_bound_moments m = by_reciprocal(f, real, n);
    if (n == 1 || !isfinite(s.distance)) {
        if (isinf(m.mean.mid) && n > 1)
            m.mean.rad = (double)INFINITY;
        return m;
    }
    struct hc_bound_moments tree = in_parts(f, &s, real);
    struct hc_bound_moments shifted = in_one_pass(f, &s, real);
    m.mean.rad = fmax(m.mean.rad, fmax(tree.mean.rad, shifted.mean.rad));
    m.variance.rad = fmax(m.variance.rad, fmax(tree.variance.rad, shifted.variance.rad));
    m.variance.rad += n * n * hc_format_tiny(f);
    if (!(n * n * (s.distance * s.distance + m.variance.rad) <= hc_format_max(f)))
        m.variance.rad = (double)INFINITY;
    return m;
}

double hc_bound_any_bn_train(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_tensor *x = &e->call->in[HC_BN_X];
    int64_t channels = x->shape[x->rank - 1];
    return hc_bound_of_moments(e, &hc_bound_norm_any,
                               hc_bound_any_channel(hc_bound_work(e->call), x, e->index % channels),
                               hc_tensor_count(x) / channels);
}

double hc_bound_any_bn_infer(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return hc_bound_of_infer(e, &hc_bound_norm_any);
}

double hc_bound_any_bn_moments(const struct hc_element *e, const struct hc_accumulator *accumulator,
                               const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_call *call = e->call;
    struct hc_bound_moments m =
        hc_bound_any_channel(hc_bound_work(call), &call->in[HC_BN_MOMENTS_X], e->index);
    return e->out == HC_BN_MOMENTS_MEAN ? m.mean.rad : m.variance.rad;
}
