/* The field's algorithms against the bounds of any order. Right ones keep their bounds on inputs
   that a search has made as bad as it can; wrong ones break them on each draw of ordinary inputs.
   HALFCHECK_WRITE=1 writes the table of both, which stands in docs/bounds.md, and which this test
   holds against what it finds. */
#include "check/bound/manners.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "check/bound/bound.h"

/* The field's algorithms (testing_field.h, manners.h) as kernels of ops, each beside its bound. */

static const double log2_of_e = 0x1.715476p+0; /* in fp32 */
static const double log_of_2 = 0x1.62e43p-1;

enum family { MOMENTS, SUMS, DOTS, LOGITS, RANKS };

struct inputs {
    int count;
    double x[3][2048]; /* of ranks: means, counts and variances */
};

enum softmax { BY_EXP, BY_EXP2, BY_EXP2_OF_LOG2, IN_BF16, OF_TF32 };

/* An algorithm; if it is wrong, the inputs that show it, too. */
struct field {
    const char *of;
    const char *name;
    enum family family;
    bool right;
    moments_fn *moments;
    bool folds; /* y = a x + b */
    summation *sum;
    bool fuses; /* a product into its sum */
    enum hc_format cut, accumulator;
    enum softmax softmax;
    enum manner ranks;
    int count;
    double centre, deviation;
};

/* What the kernels write and read in the calls. */
struct memory {
    float x[2048], y[2048], out[2048];
    float of_channel[8];
    int32_t counts[2048];
    int32_t label;
};

/* error / bound of an element in any order, where it has a bound. */
static double share(const struct hc_call *call, int out, int64_t i, double got)
{
    static const struct hc_accumulator plain = {.precision = 24, .block = 1};
    struct hc_element e = {call, out, i};
    struct hc_exact want = hc_reference_value(call, out, i);
    double bound = hc_bound_any_order(&e, &plain, &want);
    double error = hc_bound_error(call->out[out].format, &want, got);
    return error == 0 || isinf(bound) ? 0 : error / bound;
}

static double cut(const struct field *field, double x)
{
    return field->cut ? hc_round(field->cut, x) : x;
}

/* Batch norm of one channel: judges mean, variance, invstd, the running variance, and the element
   of y furthest from the mean; some more of these if the algorithm is wrong. */
static double share_of_norm(const struct field *field, const struct inputs *in, struct memory *m)
{
    int n = in->count;
    double read[2048];
    for (int i = 0; i < n; i++)
        read[i] = cut(field, in->x[0][i]);
    struct part got = field->moments(read, n);
    double variance = f(got.m2 / got.n);
    double invstd = f(1 / f(sqrt(f(variance + (double)1e-5F))));
    struct hc_tensor x = hc_tensor2(HC_FP32, n, 1, m->x);
    struct hc_call moments = {.op = HC_OP_bn_moments, .in = {x}};
    struct hc_call train = {
        .op = HC_OP_bn_train, .in = {[HC_BN_X] = x}, .params.bn = {.eps = 1e-5, .momentum = 1}};
    double gamma = m->of_channel[0] = 1.7F;
    double beta = m->of_channel[1] = 0.3F;
    double shift = f(beta - f(got.mean * f(gamma * invstd)));
    int furthest = 0;
    for (int k = 0; k < 4; k++)
        train.in[HC_BN_GAMMA + k] = hc_tensor1(HC_FP32, 1, &m->of_channel[k]);
    for (int k = 0; k < 2; k++)
        moments.out[k] = hc_tensor1(HC_FP32, 1, &m->of_channel[4]);
    train.out[HC_BN_Y] = hc_tensor2(HC_FP32, n, 1, m->y);
    for (int k = HC_BN_SAVED_MEAN; k <= HC_BN_NEW_VARIANCE; k++)
        train.out[k] = hc_tensor1(HC_FP32, 1, &m->of_channel[4]);
    for (int i = 0; i < n; i++)
        if (fabs(read[i] - got.mean) > fabs(read[furthest] - got.mean))
            furthest = i;
    double most = fmax(share(&moments, HC_BN_MOMENTS_MEAN, 0, got.mean),
                       share(&moments, HC_BN_MOMENTS_VARIANCE, 0, variance));
    most = fmax(most, share(&train, HC_BN_SAVED_INVSTD, 0, invstd));
    most = fmax(most, share(&train, HC_BN_NEW_VARIANCE, 0, f(variance * f((double)n / (n - 1)))));
    for (int i = field->right ? furthest : 0; i < n; i += field->right ? n : 1 + n / 64) {
        double y = field->folds ? f(f(read[i] * f(gamma * invstd)) + shift)
                                : f(f(f(f(read[i] - got.mean) * invstd) * gamma) + beta);
        most = fmax(most, share(&train, HC_BN_Y, i, y));
    }
    return most;
}

static double share_of_sum(const struct field *field, const struct inputs *in, struct memory *m)
{
    int n = in->count;
    double terms[2048];
    double got = 0;
    struct hc_call call = {.op = field->family == DOTS ? HC_OP_dot : HC_OP_sum,
                           .in = {hc_tensor1(HC_FP32, n, m->x), hc_tensor1(HC_FP32, n, m->y)},
                           .out = {hc_tensor1(HC_FP32, 1, m->out)},
                           .params.reduce.accumulator = HC_FP32};
    rounded_in = field->accumulator ? field->accumulator : HC_FP32;
    for (int i = 0; i < n; i++) {
        double x = cut(field, in->x[0][i]);
        double y = field->family == DOTS ? cut(field, in->x[1][i]) : 1;
        terms[i] = f(x * y);
        got = f_fused(x, y, got);
    }
    if (!field->fuses)
        got = field->sum(terms, n);
    rounded_in = HC_FP32;
    return share(&call, HC_REDUCE_OUT, 0, got);
}

/* exp(d) as the algorithm has it. */
static double exponential(const struct field *field, double d)
{
    if (field->softmax == BY_EXP2 || field->softmax == BY_EXP2_OF_LOG2)
        return f(exp2(f(d * log2_of_e)));
    if (field->softmax == IN_BF16)
        return hc_round(HC_BF16, exp(d));
    return f(exp(field->softmax == OF_TF32 ? hc_round(HC_TF32, d) : d));
}

/* One row's loss, and the gradients of all its logits; the label is the first. */
static double share_of_softmax(const struct field *field, const struct inputs *in, struct memory *m)
{
    int n = in->count;
    const double *z = in->x[0];
    double terms[2048];
    double most = z[0];
    double worst;
    struct hc_call loss = {.op = HC_OP_xent,
                           .in = {hc_tensor2(HC_FP32, 1, n, m->x), hc_tensor1(HC_I32, 1, &m->label),
                                  hc_tensor1(HC_FP32, 1, m->of_channel)},
                           .out = {hc_tensor1(HC_FP32, 1, m->out)}};
    struct hc_call gradient = loss;
    gradient.op = HC_OP_xent_bwd;
    gradient.out[HC_XENT_DLOGITS] = hc_tensor2(HC_FP32, 1, n, m->out);
    m->of_channel[0] = 1;
    m->label = 0;
    for (int j = 0; j < n; j++)
        most = fmax(most, z[j]);
    for (int j = 0; j < n; j++)
        terms[j] = exponential(field, f(z[j] - most));
    double sum = field->sum(terms, n);
    double log2_sum = f(log2(sum));
    double log_sum = field->softmax == BY_EXP ? f(log(sum)) : f(log2_sum * log_of_2);
    worst = share(&loss, HC_XENT_LOSS, 0, f(log_sum - f(z[0] - most)));
    for (int j = 0; j < n; j += 1 + n / 6) {
        double p = field->softmax == BY_EXP ? f(terms[j] / sum) : f(terms[j] * f(1 / sum));
        if (field->softmax == BY_EXP2_OF_LOG2)
            p = f(exp2(f(f(f(z[j] - most) * log2_of_e) - log2_sum)));
        worst = fmax(worst, share(&gradient, HC_XENT_DLOGITS, j, f(p - (j == 0))));
    }
    return worst;
}

/* The statistics of all ranks, of one channel. */
static double share_of_ranks(const struct field *field, const struct inputs *in, struct memory *m)
{
    int n = in->count;
    struct hc_call call = {
        .op = HC_OP_bn_combine,
        .in = {[HC_BN_COMBINE_MEANS] = hc_tensor2(HC_FP32, n, 1, m->x),
               [HC_BN_COMBINE_VARIANCES] = hc_tensor2(HC_FP32, n, 1, m->y),
               [HC_BN_COMBINE_COUNTS] = hc_tensor1(HC_I32, n, m->counts),
               [HC_BN_COMBINE_MEAN] = hc_tensor1(HC_FP32, 1, &m->of_channel[0]),
               [HC_BN_COMBINE_VARIANCE] = hc_tensor1(HC_FP32, 1, &m->of_channel[1])},
        .params.bn = {.eps = 1e-5, .momentum = 1}};
    for (int o = 0; o <= HC_BN_COMBINE_NEW_VARIANCE; o++)
        call.out[o] = hc_tensor1(HC_FP32, 1, &m->out[o]);
    for (int i = 0; i < n; i++) {
        m->counts[i] = (int32_t)in->x[1][i];
        m->y[i] = (float)in->x[2][i];
    }
    manner = field->ranks;
    other_bn_combine(NULL, &call);
    double most = 0;
    for (int o = 0; o <= HC_BN_COMBINE_NEW_VARIANCE; o++)
        most = fmax(most, share(&call, o, 0, (double)m->out[o]));
    return most;
}

/* The largest error / bound of what the algorithm makes of these inputs. */
static double ratio(const struct field *field, const struct inputs *in)
{
    static struct memory m;
    for (int i = 0; i < in->count; i++) {
        m.x[i] = (float)in->x[0][i];
        m.y[i] = (float)in->x[1][i];
    }
    switch (field->family) {
    case MOMENTS:
        return share_of_norm(field, in, &m);
    case LOGITS:
        return share_of_softmax(field, in, &m);
    case RANKS:
        return share_of_ranks(field, in, &m);
    default:
        return share_of_sum(field, in, &m);
    }
}

static const struct field fields[] = {
    {"batch norm", "two passes", MOMENTS, true, .moments = two_passes_in_sequence},
    {"batch norm", "two passes, summed as a tree", MOMENTS, true, .moments = two_passes_in_pairs},
    {"batch norm", "two passes, times 1 / n, y = a x + b", MOMENTS, true,
     .moments = two_passes_by_reciprocal, .folds = true},
    {"batch norm", "Welford", MOMENTS, true, .moments = welford_in_sequence},
    {"batch norm", "Welford, fused, times 1 / n, y = a x + b", MOMENTS, true,
     .moments = welford_fused, .folds = true},
    {"batch norm", "Welford in threads, combined by weights", MOMENTS, true,
     .moments = welford_in_threads},
    {"batch norm", "weighted means, one by one", MOMENTS, true, .moments = weighted_in_sequence},
    {"batch norm", "Chan, as a tree", MOMENTS, true, .moments = chan_in_pairs},
    {"batch norm", "two passes in parts, combined by Chan", MOMENTS, true,
     .moments = two_passes_in_parts},
    {"batch norm", "one pass, shifted by the first element", MOMENTS, true,
     .moments = one_pass_shifted},
    {"sum", "in sequence", SUMS, true, .sum = in_sequence},
    {"sum", "backwards", SUMS, true, .sum = backwards},
    {"sum", "as a tree", SUMS, true, .sum = in_pairs},
    {"sum", "in eight lanes", SUMS, true, .sum = in_lanes},
    {"sum", "in four blocks (split K)", SUMS, true, .sum = in_blocks},
    {"sum", "by atomics", SUMS, true, .sum = by_chance},
    {"dot", "in sequence, products rounded", DOTS, true, .sum = in_sequence},
    {"dot", "in sequence, fused", DOTS, true, .fuses = true},
    {"dot", "as a tree", DOTS, true, .sum = in_pairs},
    {"dot", "in eight lanes", DOTS, true, .sum = in_lanes},
    {"dot", "in four blocks (split K)", DOTS, true, .sum = in_blocks},
    {"dot", "by atomics", DOTS, true, .sum = by_chance},
    {"softmax", "exp and log", LOGITS, true, .sum = in_sequence, .softmax = BY_EXP},
    {"softmax", "exp2 and log2", LOGITS, true, .sum = in_pairs, .softmax = BY_EXP2},
    {"softmax", "exp2 of the difference from log2 of the sum", LOGITS, true, .sum = in_lanes,
     .softmax = BY_EXP2_OF_LOG2},
    {"ranks", "two passes", RANKS, true, .ranks = TEXTBOOK},
    {"ranks", "one by one, weighted means", RANKS, true, .ranks = FOLDED},
    {"ranks", "one by one, variances with their weights, too", RANKS, true, .ranks = ONE_BY_ONE},
    {"ranks", "one by one by Chan, fused", RANKS, true, .ranks = FUSED},
    {"ranks", "one by one by Welford's recurrence (West)", RANKS, true, .ranks = BY_BOTH_MEANS},
    {"ranks", "Chan, as a tree", RANKS, true, .ranks = IN_PAIRS},
    {"batch norm", "one pass, unshifted (E[x^2] - E[x]^2)", MOMENTS, .moments = one_pass_unshifted,
     .count = 64, .centre = 3000, .deviation = 1},
    {"batch norm", "one pass, unshifted (E[x^2] - E[x]^2)", MOMENTS, .moments = one_pass_unshifted,
     .count = 1024, .centre = 3000, .deviation = 1},
    {"batch norm", "Welford in bf16", MOMENTS, .moments = welford_in_bf16, .count = 64,
     .deviation = 1},
    {"batch norm", "Welford in bf16", MOMENTS, .moments = welford_in_bf16, .count = 1024,
     .centre = 3, .deviation = 1},
    {"batch norm", "two passes in fp16", MOMENTS, .moments = two_passes_in_fp16, .count = 64,
     .centre = 3, .deviation = 1},
    {"batch norm", "two passes, x as tf32", MOMENTS, .moments = two_passes_in_sequence,
     .cut = HC_TF32, .count = 64, .deviation = 1},
    {"batch norm", "two passes, x as tf32", MOMENTS, .moments = two_passes_in_sequence,
     .cut = HC_TF32, .count = 64, .centre = 3000, .deviation = 1},
    {"batch norm", "Welford, squares of differences from the old means", MOMENTS,
     .moments = welford_of_old_means, .count = 1024, .deviation = 1},
    {"batch norm", "parts, without what lies between their means", MOMENTS,
     .moments = parts_without_between, .count = 1024, .deviation = 1},
    {"ranks", "variances through bf16", RANKS, .ranks = THROUGH_BF16, .count = 8, .centre = 64,
     .deviation = 4},
    {"sum", "accumulated in bf16", SUMS, .sum = in_pairs, .accumulator = HC_BF16, .count = 1024,
     .centre = 3, .deviation = 1},
    {"sum", "accumulated in fp16", SUMS, .sum = in_sequence, .accumulator = HC_FP16, .count = 64,
     .centre = 3, .deviation = 1},
    {"dot", "accumulated in bf16", DOTS, .sum = in_lanes, .accumulator = HC_BF16, .count = 1024,
     .centre = 3, .deviation = 1},
    {"dot", "of operands as tf32", DOTS, .sum = in_sequence, .cut = HC_TF32, .count = 8,
     .deviation = 1},
    {"dot", "of operands as bf16", DOTS, .sum = in_sequence, .cut = HC_BF16, .count = 64,
     .deviation = 1},
    {"softmax", "exponentials in bf16", LOGITS, .sum = in_sequence, .softmax = IN_BF16, .count = 64,
     .deviation = 4},
    {"softmax", "logits as tf32", LOGITS, .sum = in_sequence, .softmax = OF_TF32, .count = 64,
     .deviation = 4},
};

enum { RESTARTS = 12, CLIMBS = 100, DRAWS = 10 };

#define TABLE HC_SOURCE "/reports/measured/field-algorithms.txt"

static double drawn(uint64_t stream, uint64_t *n)
{
    return hc_random_uniform(27, stream, (*n)++);
}

/* Inputs with a mean of up to 2^17, and deviations from it of anything between 2^-20 of it and 4
   times of it; half of them take two values only. */
static void restart(struct inputs *in, const struct field *field, uint64_t *n)
{
    static const int sizes[] = {2, 3, 4, 5, 8, 13, 16, 33, 64};
    in->count = sizes[(int)(9 * drawn(1, n))];
    double centre = field->family == LOGITS ? 0 : ldexp(1 + drawn(1, n), (int)(18 * drawn(1, n)));
    double spread = field->family == LOGITS ? ldexp(1 + drawn(1, n), (int)(9 * drawn(1, n)) - 2)
                                            : ldexp(centre, 2 - (int)(23 * drawn(1, n)));
    bool two = drawn(1, n) < 0.5;
    for (int i = 0; i < in->count; i++)
        for (int k = 0; k < 2; k++) {
            double at = two ? floor(2 * drawn(1, n)) : drawn(1, n);
            in->x[k][i] = (double)(float)(centre + spread * (at - 0.5));
        }
}

/* Up to eight ranks of up to 2^18 elements, with means as those numbers are; half of them have no
   variances. */
static void restart_ranks(struct inputs *in, const struct field *field, uint64_t *n)
{
    restart(in, field, n);
    in->count = in->count > 8 ? 8 : in->count;
    double apart = fabs(in->x[0][0] - in->x[0][1]) * floor(2 * drawn(1, n));
    int counts = (int)(18 * drawn(1, n));
    for (int i = 0; i < in->count; i++) {
        in->x[1][i] = floor(exp2(counts * drawn(1, n)));
        in->x[2][i] = (double)(float)(apart * apart * drawn(1, n));
    }
}

/* Numbers of rank i that ranks may have. */
static void make_ranks(struct inputs *in, int i)
{
    in->x[1][i] = fmin(fmax(round(in->x[1][i]), 1), 0x1p20);
    in->x[2][i] = fmax(in->x[2][i], 0);
}

/* One number becomes another one near it, or a copy of its neighbour, or anything in between. */
static void change(struct inputs *in, const struct field *field, uint64_t *n)
{
    int i = (int)(in->count * drawn(2, n));
    int j = (int)(in->count * drawn(2, n));
    double *x = in->x[drawn(2, n) < 0.7 ? 0 : 1];
    if (field->family == RANKS && x != in->x[0] && drawn(2, n) < 0.5)
        x = in->x[2];
    double way = drawn(2, n);
    if (way < 0.4)
        x[i] = (double)(float)(x[i] + (floor(9 * drawn(2, n)) - 4) * hc_ulp(HC_FP32, x[i]));
    else if (way < 0.6)
        x[i] = x[j];
    else
        x[i] = (double)(float)(x[i] + (x[j] - x[i]) * 2 * (drawn(2, n) - 0.25));
    if (field->family == RANKS)
        make_ranks(in, i);
}

/* The largest error / bound that random restarts and climbing from each of them find. */
static double search(const struct field *field)
{
    static struct inputs best;
    static struct inputs next;
    uint64_t n = 0;
    double largest = 0;
    int longer = field->family == RANKS ? 3 : 0; /* of these the worst are rarer */
    for (int start = 0; start < RESTARTS << longer; start++) {
        (field->family == RANKS ? restart_ranks : restart)(&best, field, &n);
        double here = ratio(field, &best);
        for (int climb = 0; climb < CLIMBS << longer; climb++) {
            next = best;
            for (double more = 0; more < 0.5; more = drawn(3, &n))
                change(&next, field, &n);
            double there = ratio(field, &next);
            if (there >= here) {
                best = next;
                here = there;
            }
        }
        largest = fmax(largest, here);
    }
    return largest;
}

/* The least error / bound of some draws of normal numbers. */
static double least_of_draws(const struct field *field)
{
    static struct inputs in;
    double least = (double)INFINITY;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        in.count = field->count;
        for (int i = 0; i < in.count; i++)
            for (uint64_t k = 0; k < 3; k++)
                in.x[k][i] =
                    (double)(float)(field->centre +
                                    field->deviation * hc_random_normal(k, draw, (uint64_t)i));
        least = fmin(least, ratio(field, &in));
    }
    return least;
}

/* A row of the table and the number that ends it. */
static void describe(const struct field *field, double found, char *text, size_t size)
{
    char inputs[64] = "the worst that a search finds";
    if (!field->right)
        (void)snprintf(inputs, sizeof inputs, "%d numbers, mean %g, deviation %g", field->count,
                       field->centre, field->deviation);
    (void)snprintf(text, size, "%-7s %-11s %-56s %-40s %.2g\n", field->right ? "right" : "wrong",
                   field->of, field->name, inputs, found);
}

static void add_row(FILE *table, const struct field *field)
{
    char want[256] = "";
    char got[256];
    double found = field->right ? search(field) : least_of_draws(field);
    describe(field, found, got, sizeof got);
    if (field->right)
        cr_expect(found <= 1, "%s: %s is right, and comes to %g of its bound", field->of,
                  field->name, found);
    else
        cr_expect(found > 1, "%s: %s is wrong, and comes to %g of its bound only", field->of,
                  field->name, found);
    if (getenv("HALFCHECK_WRITE")) {
        (void)fputs(got, table);
        return;
    }
    /* The last bits of exponentials depend on the C library. */
    (void)fgets(want, sizeof want, table);
    size_t words = strlen(got) > 118 ? 118 : strlen(got);
    cr_expect(strncmp(want, got, words) == 0 && strlen(want) > words &&
                  fabs(atof(want + words) - found) <= 0.1 * found,
              "the table has\n%sand this finds\n%s", want, got);
}

Test(field, right_algorithms_keep_their_bounds_and_wrong_ones_break_them)
{
    FILE *table = fopen(TABLE, getenv("HALFCHECK_WRITE") ? "w" : "r");
    cr_assert_not_null(table, "%s", TABLE);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].right)
            add_row(table, &fields[i]);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!fields[i].right)
            add_row(table, &fields[i]);
    (void)fclose(table);
}
