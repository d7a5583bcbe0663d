/* bn_combine: what rounding makes of the statistics of all ranks.

   Rank r of R has n_r of M elements, the mean m_r and the variance v_r. With w_r = n_r / M,

     mean = sum w_r m_r,     variance V = sum w_r (v_r + (m_r - mean)^2).

   Mean. A term w_r m_r meets at most R + 3 roundings, whether the division by M comes first or
   last: of n_r and of M into the format, a quotient, a product, and R - 1 additions. So the mean is
   off by at most t sum w_r |m_r|, t = (1 + u)^(R + 3) - 1. A product or quotient may underflow.

   Variance. Let d be the mean's error. Since sum w_r (m_r - mean) = 0,

     sum w_r (v_r + (m_r - mean - d)^2) = V + d^2,

   with no term in d alone. All terms are positive. Each meets at most R + 7 roundings: the
   difference (which counts twice, being squared), the square, the sum with v_r, and those of the
   mean's terms. So the variance is off by at most d^2 + t (V + d^2), t = (1 + u)^(R + 7) - 1. V is
   computed here with a mean that is a pair of numbers of fp64 (ball.h).

   In any order the ranks may also come one by one, the mean a and the variance of those so far
   being kept (Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing
   sample variances, 1979; PyTorch's kernel does so). The k-th of them, of n elements, brings their
   number to N_k, and the mean to a + (m - a) n / N_k or to the mean weighted by N_(k-1) / N_k and n
   / N_k. A weight is a product with a rounded reciprocal. With A the largest |m_r|, S their largest
   distance and t(k) = (1 + u)^k - 1, a step errs by at most L = max(t(4) A, u A + t(4) S), as in
   norm_any_order.c, and each number beyond 2^p, p the format's bits, is one rounding more. The
   first step has a = 0: n times the rounded 1 / n is 1 or 1 - u, and so it errs by t(2) A, at most
   L / 2. What a is off by is passed on with its weight. So after k steps

     N_k a is off by at most L (N_1 / 2 + N_2 + ... + N_k).

   The sum of the N_j is most where the largest ranks come first, and then it is N_k times the D of
   these ranks, D = 1 + the sum over pairs of ranks of the larger share. A rank more never makes D
   smaller: put where its size belongs, it brings to the sum at least (R + 1) n >= D n. So all of
   them are off by at most E = L (D - w / 2), w the smallest share, and any fewer by E' = L min(R -
   3 / 2, D - w / 2).

   They may also come as any tree, a leaf being a rank: a node of n = n_a + n_b elements errs by at
   most L, and what its halves are off by is passed on with their shares. So n times the mean of a
   node is off by at most L s_n, s_n = n + s_a + s_b, and 0 for a leaf. With T_k the sum of the k
   largest, s_n <= T_2 + ... + T_R, as for ranks one by one, the largest first: that is so of the
   halves, of which the b smaller sums T_k are at most T_(k + a - 1) of all. That is at most (D -
   w) N, and less than E where the number is N. It is at most (R - 1) n, too.

   A step or node adds (m - a)^2 g to the variance, g = n_a n_b / (n M), m - a the distance of the
   two means. These are off by s_a / n_a + s_b / n_b times L at most, of which P is the largest.
   The sum of the (m - a)^2 g is B, the sum of w_r (m_r - mean)^2. By Cauchy and Schwarz the
   variance is off by at most 2 sqrt(B W) + W, where

     W = L^2 sum g (s_a / n_a + s_b / n_b)^2 <= L P sum (n_b s_a + n_a s_b) / (n M).

   s_a is the sum of the n of all nodes in a. So the last sum is that of x q over all nodes but the
   root, x a node's n / M, and q the sum of n_sibling / n_parent on the way from it to the root.
   And x q is at most G / 2, G = 1 - the sum of w_r^2. For let the siblings on that way be b_1,
   ..., b_j, in shares, and the node one part: then G >= 1 - x^2 - the sum of the b_i^2. If there
   are none, both are 0. Without the last one, b, whatever is below has the share 1 - b, in which
   x' = x / (1 - b), and 2 x' q' <= G' <= 1 - x'^2 where that was shown before. With it, G / 2 = b
   (1 - b) + (1 - b)^2 G' / 2 and x q = (1 - b) x' q' + x b, and so

     G / 2 - x q >= b (1 - b) (1 - x') - b (1 - b) G' / 2 >= b (1 - b) (1 - x')^2 / 2 >= 0.

   There are R - 2 such nodes; ranks one by one have half a one more, the first, which errs by
   half. P is at most R - 2, or R - 3 / 2 one by one. It is also at most L (D + 1 / 2). One by one
   it is E'. Else let the two halves be A and B, with a and b ranks and the shares v and 1 - v of
   their sum, F(t) and H(t) ranks above t. The sum over pairs of the larger share is the integral
   of a F - F (F + 1) / 2 within A, of b H - H (H + 1) / 2 within B, and of a H + b F - F H between
   them; that of F is v and that of H is 1 - v. So the D of A and of B are together at most that of
   both and

     1 / 2 + the integral of F H - (1 - v) F^2 / (2 v) - v H^2 / (2 (1 - v)) <= 1 / 2.

   In all W <= L^2 min(D + 1 / 2, R - 3 / 2) (R - 3 / 2) G / 2. (The distance of the m_r from each
   other is far more than sqrt(B) where a rank of few elements has a mean of its own.)

   Welford's recurrence, with weights as West has it (Updating mean and variance estimates: an
   improved method, 1979), adds w_r (m_r - a)(m_r - a'), a' the new mean, which is moved. The first
   rank's is taken as it is, by a share of 1. Else a' is off by at most K = u A + t(4) S more than
   its share of what a is off by. So w_r |m_r - a| K is lost, too, for each rank but the first.
   These |m_r - a| are at most S and P. And with w_r = g_r N_k / N_(k-1) the sum of w_r |m_r - a|
   is at most sqrt(B Y) and P, Y the sum of w_r N_k / N_(k-1), which is at most that of w_r + w_r^2
   / w over all ranks but the least. (A rank that has far more elements than all before it loses
   that much: K times its mean's distance.)

   Who keeps the variance itself multiplies it by a weight in each step: a reciprocal, two products
   and two sums. A step's own term meets eleven roundings: the difference (which counts twice), the
   square, two weights, two products and two sums. The first one comes with the second rank, and so
   5 R + 1 in all, of V and what it is off by. Numbers beyond 2^p add two in each step. Who
   keeps it times its number meets fewer. */
#include <math.h>

#include "check/bound/norm.h"

/* Nobody asks in which order more ranks than that come. */
enum { MOST_SHARES = 64 };

/* One channel's numbers, over the ranks that have elements. */
struct ranks {
    double count;        /* of these */
    int64_t all;         /* elements */
    struct hc_ball mean; /* real, as the variance: the radius is what a pair of numbers loses */
    struct hc_ball variance;
    double magnitude; /* sum w_r |m_r| */
    double largest;   /* |m_r| */
    double from, to;  /* the least m_r and the largest, in any order: with their errors */
    double between;   /* sum w_r (m_r - mean)^2 */
    double share[MOST_SHARES];
};

static struct hc_ball real_sum(struct hc_ball sum, struct hc_ball share, struct hc_ball x)
{
    return hc_ball_add(HC_REAL, sum, hc_ball_mul(HC_REAL, share, x));
}

/* v + (m - mean)^2. */
static struct hc_ball about(struct hc_ball mean, struct hc_ball m, struct hc_ball v)
{
    struct hc_ball d = hc_ball_sub(HC_REAL, m, mean);
    return hc_ball_add(HC_REAL, v, hc_ball_mul(HC_REAL, d, d));
}

static struct hc_ball share_of(double count, int64_t all)
{
    return hc_ball_div(HC_REAL, hc_ball_exact(count), hc_ball_exact((double)all));
}

/* A rank with elements: its share, and its mean, which may be off. */
static void count_rank(struct ranks *k, double share, double mean, double off)
{
    k->from = k->count > 0 ? fmin(k->from, mean - off) : mean - off;
    k->to = k->count > 0 ? fmax(k->to, mean + off) : mean + off;
    if (k->count < MOST_SHARES)
        k->share[(int)k->count] = share;
    k->count++;
    k->magnitude += share * (fabs(mean) + off);
    k->largest = fmax(k->largest, fabs(mean) + off);
}

static struct ranks ranks_of(const struct hc_call *call, int64_t c)
{
    const struct hc_tensor *means = &call->in[HC_BN_COMBINE_MEANS];
    const struct hc_tensor *counts = &call->in[HC_BN_COMBINE_COUNTS];
    int64_t channels = means->shape[means->rank - 1];
    struct ranks k = {0};
    for (int64_t r = 0; r < hc_tensor_count(counts); r++)
        k.all += (int64_t)fmax(hc_tensor_get(counts, r), 0);
    for (int64_t r = 0; r < hc_tensor_count(counts); r++) {
        double m = hc_tensor_get(means, r * channels + c);
        double share = hc_tensor_get(counts, r) / (double)k.all;
        if (!(share > 0))
            continue;
        k.mean = real_sum(k.mean, share_of(hc_tensor_get(counts, r), k.all), hc_ball_exact(m));
        count_rank(&k, share, m, 0);
    }
    for (int64_t r = 0; r < hc_tensor_count(counts); r++) {
        struct hc_ball m = hc_ball_element(means, r * channels + c);
        struct hc_ball v = hc_ball_element(&call->in[HC_BN_COMBINE_VARIANCES], r * channels + c);
        double d = m.mid - k.mean.mid;
        double share = hc_tensor_get(counts, r) / (double)k.all;
        if (!(share > 0))
            continue;
        k.between += share * d * d;
        k.variance =
            real_sum(k.variance, share_of(hc_tensor_get(counts, r), k.all), about(k.mean, m, v));
    }
    return k;
}

/* The same; found, if it was asked for before in this thread and nobody has changed the call. */
static struct ranks kept_ranks(const struct hc_call *call, int64_t c)
{
    static _Thread_local struct hc_kept kept[HC_KEPT_CHANNELS];
    static _Thread_local struct ranks ranks[HC_KEPT_CHANNELS];
    int at = (int)(c % HC_KEPT_CHANNELS);
    if (!hc_is_kept(&kept[at], hc_reference_promise(call), c))
        ranks[at] = ranks_of(call, c);
    return ranks[at];
}

/* (1 + u)^n - 1, where fp64's own rounding of the middle counts with every one; the middle of
   fp64's numbers is a pair. */
static double growth(enum hc_format f, double n)
{
    return expm1(n * log1p(hc_format_unit(f) + (f == HC_FP64 ? 0x1p-90 : 0x1p-52)));
}

/* Where the division comes last, M times the number must be in range. */
static struct hc_ball held(enum hc_format f, const struct ranks *k, struct hc_ball real,
                           double most, double error)
{
    error += (k->count + 1) * hc_format_tiny(f);
    if (isinf(real.mid) || k->count == 0)
        return hc_ball_exact(real.mid);
    if (!((double)k->all * (most + error) <= hc_format_max(f)))
        error = (double)INFINITY;
    real.rad = error; /* what underflow takes of the pair is in it */
    return real;
}

static struct hc_bound_moments in_order(enum hc_format f, const struct ranks *k)
{
    struct hc_bound_moments m;
    double t = growth(f, k->count + 3);
    m.mean = held(f, k, k->mean, k->magnitude, t * k->magnitude);
    double off = m.mean.rad * m.mean.rad;
    t = growth(f, k->count + 7);
    m.variance = held(f, k, k->variance, k->variance.mid, off + t * (k->variance.mid + off));
    return m;
}

/* What the order of the ranks may come to: D, G and w. */
struct order {
    double sums;  /* D */
    double apart; /* G */
    double least; /* w */
};

static struct order order_of(const struct ranks *k)
{
    struct order order = {k->count, 1, 0};
    if (k->count > MOST_SHARES)
        return order;
    order = (struct order){1, 1, 1};
    for (int i = 0; i < (int)k->count; i++) {
        double w = k->share[i];
        for (int j = 0; j < i; j++)
            order.sums += fmax(w, k->share[j]);
        order.apart -= w * w;
        order.least = fmin(order.least, w);
    }
    order.apart = fmax(order.apart, 0);
    return order;
}

static struct hc_bound_moments in_any_order(enum hc_format f, const struct ranks *k)
{
    const double up = 1 + 0x1p-40; /* the roundings of this computation */
    struct hc_bound_moments stated = in_order(f, k);
    struct hc_bound_moments m;
    struct order order = order_of(k);
    double ranks = k->count;
    int counts = (double)k->all <= ldexp(1, hc_formats[f].precision) ? 0 : 2;
    double more = (1 + growth(f, (6 + counts) * ranks)) * up;
    double moved = growth(f, 1) * k->largest + growth(f, 4 + counts) * (k->to - k->from);
    double step = fmax(growth(f, 4 + counts) * k->largest, moved) * more;
    double all = step * (order.sums - order.least / 2);
    double nodes = fmax(ranks - 1.5, 0);
    double before = step * fmin(order.sums + 0.5, nodes);
    double sum = before * step * nodes * order.apart / 2; /* W */
    double least = order.least;
    double shares =
        least > 0 ? 1 - 2 * least + (1 - order.apart) / least : (double)INFINITY; /* Y */
    double distance = fmin(sqrt(k->between * fmax(shares, 0)), (1 - least) * (k->to - k->from));
    double off = (2 * sqrt(k->between * sum) + sum + moved * more * (distance + before)) * up;
    double t = growth(f, (5 + counts) * ranks + 1);
    m.mean = held(f, k, k->mean, 2 * k->largest, all);
    m.variance = held(f, k, k->variance, k->variance.mid, off + t * (k->variance.mid + off));
    m.mean.rad = fmax(m.mean.rad, stated.mean.rad);
    m.variance.rad = fmax(m.variance.rad, stated.variance.rad);
    return m;
}

/* How far each rank's moments may be off. */
struct strayed {
    double mean;     /* sum w_r A_r */
    double variance; /* sum w_r B_r + 2 sum w_r |m_r - mean| A_r + sum w_r A_r^2 */
};

/* Rows of x, and whether their moments come in any order. */
struct rows {
    const struct hc_tensor *x;
    int64_t channel;
    bool any;
};

static struct hc_bound_moments of_rank(enum hc_format f, const struct rows *of, int64_t first,
                                       int64_t rows)
{
    const struct hc_tensor *x = of->x;
    int64_t channels = x->shape[x->rank - 1];
    char *data = x->data;
    size_t before = (size_t)(first * channels) * (size_t)hc_formats[x->format].bytes;
    struct hc_tensor own = hc_tensor2(x->format, rows, channels, data + before);
    return of->any ? hc_bound_any_channel(f, &own, of->channel)
                   : hc_bound_channel(f, &own, of->channel);
}

/* The middle of a ball. */
static struct hc_ball middle(struct hc_ball x)
{
    x.rad = 0;
    return x;
}

static void add_rank(struct ranks *k, int64_t rows, const struct hc_bound_moments *m)
{
    k->mean = real_sum(k->mean, share_of((double)rows, k->all), middle(m->mean));
    count_rank(k, (double)rows / (double)k->all, m->mean.mid, m->mean.rad);
}

static void add_variance(struct ranks *k, struct strayed *off, int64_t rows,
                         const struct hc_bound_moments *m)
{
    double share = (double)rows / (double)k->all;
    double d = m->mean.mid - k->mean.mid;
    double of_mean = 2 * fabs(d) * m->mean.rad + m->mean.rad * m->mean.rad;
    k->variance = real_sum(k->variance, share_of((double)rows, k->all),
                           about(k->mean, middle(m->mean), middle(m->variance)));
    k->between += share * (d * d + of_mean);
    off->mean += share * m->mean.rad;
    off->variance += share * (m->variance.rad + of_mean);
}

/* The ranks' moments come out of bn_moments: m_r + a_r with |a_r| <= A_r, and v_r + b_r with |b_r|
   <= B_r. Their real mean is off by sum w_r a_r. With that taken away from each a_r, which only
   makes the sum of their squares smaller, and since sum w_r (m_r - mean) = 0, their real variance
   is V + sum w_r b_r + 2 sum w_r (m_r - mean) a_r + at most sum w_r a_r^2. To these come the
   roundings of bn_combine, on numbers as large as that makes them: in any order also B of the
   computed means, which is no more than B + 2 sum w_r |m_r - mean| A_r + sum w_r A_r^2. */
double hc_bound_bn_shared(const struct hc_element *e, const int64_t *rows, int ranks, bool any)
{
    enum hc_format f = hc_bound_work(e->call);
    const struct hc_tensor *x = &e->call->in[HC_BN_X];
    const struct rows of = {x, e->index % x->shape[x->rank - 1], any};
    struct ranks k = {.count = 0};
    struct strayed off = {0};
    for (int r = 0; r < ranks; r++)
        k.all += rows[r];
    int64_t first = 0;
    for (int r = 0; r < ranks; first += rows[r++]) {
        if (rows[r] == 0)
            continue;
        struct hc_bound_moments m = of_rank(f, &of, first, rows[r]);
        add_rank(&k, rows[r], &m);
    }
    first = 0;
    for (int r = 0; r < ranks; first += rows[r++]) {
        if (rows[r] == 0)
            continue;
        struct hc_bound_moments m = of_rank(f, &of, first, rows[r]);
        add_variance(&k, &off, rows[r], &m);
    }
    struct hc_bound_moments real = {k.mean, k.variance};
    k.variance.mid += off.variance;
    struct hc_bound_moments m = any ? in_any_order(f, &k) : in_order(f, &k);
    real.mean.rad = m.mean.rad + off.mean;
    real.variance.rad = m.variance.rad + off.variance;
    return hc_bound_of_moments(e, any ? &hc_bound_norm_any : &hc_bound_norm_stated, real, k.all);
}

/* `m` are the moments of all ranks, rounded as `by` says. */
static double combined(const struct hc_element *e, const struct hc_bound_norm *by,
                       const struct hc_bound_moments *m, int64_t elements)
{
    const struct hc_call *call = e->call;
    const struct hc_bn *p = &call->params.bn;
    enum hc_format f = hc_bound_work(call);
    double momentum = hc_bn_number(p, p->momentum);
    switch (e->out) {
    case HC_BN_COMBINE_SAVED_MEAN:
        return m->mean.rad;
    case HC_BN_COMBINE_SAVED_VARIANCE:
        return m->variance.rad;
    case HC_BN_COMBINE_SAVED_INVSTD:
        return by->inverse_root(f, m->variance, hc_bn_number(p, p->eps)).rad;
    case HC_BN_COMBINE_NEW_MEAN:
        return by->blended(f, &call->in[HC_BN_COMBINE_MEAN], e->index, m->mean, momentum);
    default:
        return by->blended(f, &call->in[HC_BN_COMBINE_VARIANCE], e->index,
                           by->unbiased(f, m->variance, elements), momentum);
    }
}

double hc_bound_bn_combine(const struct hc_element *e, const struct hc_accumulator *accumulator,
                           const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    struct ranks k = kept_ranks(e->call, e->index);
    struct hc_bound_moments m = in_order(hc_bound_work(e->call), &k);
    return combined(e, &hc_bound_norm_stated, &m, k.all);
}

double hc_bound_any_bn_combine(const struct hc_element *e, const struct hc_accumulator *accumulator,
                               const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    struct ranks k = kept_ranks(e->call, e->index);
    struct hc_bound_moments m = in_any_order(hc_bound_work(e->call), &k);
    return combined(e, &hc_bound_norm_any, &m, k.all);
}

/* Infinities. Let rank i's mean be infinite. The definition's mean is that infinity, or NaN if
   there are both; its variance is NaN, since m_i - mean is inf - inf. Ranks that come one by one
   form other differences. One that moves the mean by (m_r - a) n_r / N has NaN for it from the rank
   behind i on. And m_i - a is infinite as long as a is finite, so that the variance is infinite if
   i comes last, or if a is a weighted mean, which stays that infinity. Where no other rank has
   elements nothing need be combined, and the variance is that of rank i. A NaN among the numbers
   makes NaN in every order, and no order makes a finite number of several ranks, save 1 / sqrt(inf)
   = 0. */
struct infinities {
    int64_t ranks; /* with elements */
    int64_t only;  /* one of them */
    bool up, down; /* a mean is that infinity */
    bool nan_mean, nan_variance;
};

static struct infinities infinities_of(const struct hc_call *call, int64_t c)
{
    const struct hc_tensor *means = &call->in[HC_BN_COMBINE_MEANS];
    int64_t channels = means->shape[means->rank - 1];
    struct infinities k = {0};
    for (int64_t r = 0; r < means->shape[0]; r++) {
        double mean = hc_tensor_get(means, r * channels + c);
        if (!(hc_tensor_get(&call->in[HC_BN_COMBINE_COUNTS], r) > 0))
            continue;
        k.ranks++;
        k.only = r;
        k.up |= isinf(mean) && mean > 0;
        k.down |= isinf(mean) && mean < 0;
        k.nan_mean |= isnan(mean);
        k.nan_variance |=
            isnan(hc_tensor_get(&call->in[HC_BN_COMBINE_VARIANCES], r * channels + c));
    }
    return k;
}

/* Whether got is right where the mean of the only rank, which is not looked at, is 0. */
static bool of_one_rank(const struct hc_element *e, const struct infinities *k, double got)
{
    const struct hc_tensor *means = &e->call->in[HC_BN_COMBINE_MEANS];
    int64_t at = k->only * means->shape[means->rank - 1] + e->index;
    struct hc_call call = *e->call;
    uint64_t number[HC_MAX_IN] = {0};
    for (int i = HC_BN_COMBINE_MEANS; i <= HC_BN_COMBINE_VARIANCE; i++) {
        const struct hc_tensor *t = &e->call->in[i];
        call.in[i] = t->rank == 2 ? hc_tensor2(t->format, 1, 1, &number[i])
                                  : hc_tensor1(t->format, 1, &number[i]);
        if (i != HC_BN_COMBINE_MEANS)
            hc_tensor_set(&call.in[i], 0,
                          hc_tensor_get(t, i == HC_BN_COMBINE_VARIANCES ? at
                                           : i == HC_BN_COMBINE_COUNTS  ? k->only
                                                                        : e->index));
    }
    struct hc_element one = {&call, e->out, 0};
    struct hc_exact want = hc_reference_value(&call, e->out, 0);
    return hc_bound_error(call.out[e->out].format, &want, got) <=
           hc_bound_any_order(&one, NULL, &want);
}

bool hc_bound_any_combined(const struct hc_element *e, double got)
{
    struct infinities k = infinities_of(e->call, e->index);
    if ((!k.up && !k.down) || k.nan_mean)
        return false;
    if (e->out == HC_BN_COMBINE_SAVED_MEAN || e->out == HC_BN_COMBINE_NEW_MEAN)
        return isnan(got);
    if (k.ranks == 1)
        return of_one_rank(e, &k, got);
    if (k.nan_variance)
        return false;
    if (e->out == HC_BN_COMBINE_SAVED_INVSTD)
        return got == 0;
    bool running = e->out == HC_BN_COMBINE_NEW_VARIANCE;
    double before = running ? hc_tensor_get(&e->call->in[HC_BN_COMBINE_VARIANCE], e->index) : 0;
    return isinf(got) && got > 0 && !isnan(before);
}
