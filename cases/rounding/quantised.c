/* What quantising and decoding leave of a number, within a bound that is derived here.

   D is what a code is multiplied by, the block's scale times the tensor's, and e what the element
   was multiplied by. In every rule below one is the other's reciprocal, rounded once to three times
   in fp32: e D = 1 + d, |d| <= 3 2^-24 + 2^-46. The code is that of t = fl(x e), and so

     t = (x / D) (1 + d) (1 + r),  |r| <= 2^-24.

   Let M be the largest number of the codes' format, u = 2^-p for its p bits and eta its smallest
   number. Between normal numbers a code's number q lies within u of the larger of |t| and |q|, that
   is, u |t| / (1 + u) from t (Jeannerod and Rump, On relative errors of floating-point operations,
   2018), below them within eta / 2; beyond M it is M:

     |q - t| <= E(t) = max(u |t| / (1 + u), eta / 2) + max(0, |t| - M).

   With k random bits the other neighbour may be taken: 2 u |t| and eta stand for u |t| / (1 + u)
   and eta / 2. Decoding rounds twice, y = q D (1 + a)(1 + b), |a|, |b| <= 2^-24. Then

     |y - x| <= |D| E(t) + |x| |(1 + d)(1 + r) - 1| + |y| (2 2^-24 + 2^-47).

   Powers of two leave d, a and b at 0, but that only makes it smaller. Where D or y is subnormal,
   or a rule keeps e away from 1 / D, this does not hold; the inputs and the rules are such that
   neither happens. A special has no bound. */
#include <math.h>

#include "case.h"

struct claim {
    enum hc_scale_rule rule;
    enum hc_format codes;
    int64_t rows, columns;
    int random_bits;
};

enum { M = 48, K = 256 };

/* Numbers of many sizes; a row in four has an element that is far larger than the others. */
static double drawn(uint64_t seed, int64_t i)
{
    uint64_t r = hc_random(seed, 3, (uint64_t)i);
    double x = ldexp(hc_random_normal(seed, 1, (uint64_t)i), (int)(r % 7) - 3);
    return i / K % 4 == 0 && i % K == 17 ? 100 * x : x;
}

/* The bound above on |y - x|. */
static double bound_of(const struct claim *c, double x, double y, double scale)
{
    const double u32 = 0x1p-24;
    double u = hc_format_unit(c->codes);
    double eta = hc_format_tiny(c->codes);
    double past = (1 + 3.01 * u32) * (1 + u32);
    double t = fabs(x) / scale * past;
    double code = c->random_bits ? fmax(2 * u * t, eta) : fmax(u * t / (1 + u), eta / 2);
    code += fmax(0, t - hc_format_max(c->codes));
    double error = scale * code + fabs(x) * (past - 1) + fabs(y) * 2.01 * u32;
    return error * (1 + 0x1p-40);
}

static struct hc_call quantize(struct hc_check *check, const struct claim *c)
{
    int64_t down = hc_quant_blocks(M, c->rows);
    int64_t across = hc_quant_blocks(K, c->columns);
    return (struct hc_call){
        .op = HC_OP_quantize,
        .in = {[HC_QUANTIZE_X] = hc_check_tensor(check, hc_tensor2(HC_FP32, M, K, NULL))},
        .out = {[HC_QUANTIZE_CODES] = hc_check_tensor(check, hc_tensor2(c->codes, M, K, NULL)),
                [HC_QUANTIZE_SCALES] = hc_check_tensor(
                    check, hc_tensor2(hc_scale_format(c->rule), down, across, NULL)),
                [HC_QUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1),
                [HC_QUANTIZE_AMAX] = hc_check_vector(check, HC_FP32, 1)},
        .params.quantize = {.rule = c->rule,
                            .rows = c->rows,
                            .columns = c->columns,
                            .random_bits = c->random_bits,
                            .seed = hc_check_seed(check)},
    };
}

static struct hc_call dequantize(struct hc_check *check, const struct hc_call *q)
{
    return (struct hc_call){
        .op = HC_OP_dequantize,
        .in = {[HC_DEQUANTIZE_CODES] = q->out[HC_QUANTIZE_CODES],
               [HC_DEQUANTIZE_SCALES] = q->out[HC_QUANTIZE_SCALES],
               [HC_DEQUANTIZE_TENSOR] = q->out[HC_QUANTIZE_TENSOR]},
        .out = {[HC_DEQUANTIZE_Y] = hc_check_tensor(check, hc_tensor2(HC_FP32, M, K, NULL))},
        .params.dequantize = {q->params.quantize.rows, q->params.quantize.columns},
    };
}

/* The element that comes nearest to its bound, and how many are beyond theirs. Some must come near,
   or the bound says nothing. */
static void judge(struct hc_check *check, const struct claim *c, const struct hc_call *q,
                  const struct hc_call *d)
{
    struct hc_comparisons all = {.what = "numbers within the bound of their code"};
    const struct hc_tensor *scales = &q->out[HC_QUANTIZE_SCALES];
    double tensor = hc_tensor_get(&q->out[HC_QUANTIZE_TENSOR], 0);
    double worst = 0;
    for (int64_t i = 0; i < M * K; i++) {
        int64_t down = c->rows > 0 ? i / K / c->rows : 0;
        int64_t across = c->columns > 0 ? i % K / c->columns : 0;
        double scale = hc_tensor_get(scales, down * scales->shape[1] + across) * tensor;
        double x = hc_tensor_get(&q->in[HC_QUANTIZE_X], i);
        double y = hc_tensor_get(&d->out[HC_DEQUANTIZE_Y], i);
        double bound = bound_of(c, x, y, scale);
        double ratio = fabs(y - x) / bound;
        worst = ratio > worst ? ratio : worst;
        all.checked++;
        if (!(ratio <= 1))
            hc_comparisons_wrong(&all,
                                 "x %.9g becomes %.9g under the scale %.9g: error %.3g, bound %.3g",
                                 x, y, scale, fabs(y - x), bound);
    }
    hc_claim_comparisons(check, &all);
    hc_say(check, "the largest error is %.6f of its bound", worst);
    hc_claim_true(check, "some error is at least 0.9 of its bound", worst >= 0.9);
}

static void round_trip(struct hc_check *check)
{
    const struct claim *c = hc_check_case(check)->data;
    struct hc_call q = quantize(check, c);
    struct hc_call d = dequantize(check, &q);
    for (int64_t i = 0; i < M * K; i++)
        hc_tensor_set(&q.in[HC_QUANTIZE_X], i, drawn(hc_check_seed(check), i));
    if (hc_do(check, &q) == HC_OK && hc_do(check, &d) == HC_OK)
        judge(check, c, &q, &d);
}

#define ROW(rule_name, codes_name, shape, rule, codes, rows, columns, bits)                        \
    {                                                                                              \
        .name = "rounding/quantised/" codes_name "-" rule_name shape,                              \
        .title = codes_name " under " rule_name ": what is decoded lies within the derived bound", \
        .source = "derived in cases/rounding/quantised.c", .run = round_trip,                      \
        .data = &(const struct claim)                                                              \
        {                                                                                          \
            HC_SCALE_##rule, HC_##codes, (rows), (columns), (bits)                                 \
        }                                                                                          \
    }

static const struct hc_case cases[] = {
    ROW("te-current", "e4m3", "", TE_CURRENT, E4M3, 0, 0, 0),
    ROW("te-current", "e5m2", "", TE_CURRENT, E5M2, 0, 0, 0),
    ROW("torchao", "e4m3fnuz", "-rows", TORCHAO, E4M3FNUZ, 1, 0, 0),
    ROW("te-block", "e4m3", "-1x128", TE_BLOCK, E4M3, 1, 128, 0),
    ROW("te-block-fp32", "e5m2fnuz", "-128x128", TE_BLOCK_FP32, E5M2FNUZ, 128, 128, 0),
    ROW("deepgemm", "e4m3", "-1x128", DEEPGEMM, E4M3, 1, 128, 0),
    ROW("mx-rp", "e4m3", "", MX_RP, E4M3, 1, 32, 0),
    ROW("mx-floor", "e4m3", "", MX_FLOOR, E4M3, 1, 32, 0),
    ROW("mx-even", "e2m3", "", MX_EVEN, E2M3, 1, 32, 0),
    ROW("mx-rp", "e3m2", "", MX_RP, E3M2, 1, 32, 0),
    ROW("mx-floor", "e2m1", "", MX_FLOOR, E2M1, 1, 32, 0),
    ROW("nvfp4-te", "e2m1", "", NVFP4_TE, E2M1, 1, 16, 0),
    ROW("nvfp4-torchao", "e2m1", "-16x16", NVFP4_TORCHAO, E2M1, 16, 16, 0),
    ROW("nvfp4-te", "e2m1", "-random", NVFP4_TE, E2M1, 1, 16, 8),
    ROW("te-block", "e5m2", "-random", TE_BLOCK, E5M2, 1, 128, 16),
};

HC_CASES(rounding_quantised, cases);
