/* Defects of products of quantised matrices: scales of other blocks, of the other factor or read
   wrongly, accumulators of few bits, and what stands around the sum. */
#include <math.h>

#include "check/selftest/change.h"

/* Where a defect sits in the sum of one element. */
struct place {
    const struct hc_call *call;
    int64_t row, column; /* of the result */
    int64_t from;        /* the piece's first term */
};

/* The scale of one factor (slot of its codes) for the piece. */
typedef double read_scale(const struct place *p, int codes);

/* The sum of the products of terms from `from` on to `end`. */
typedef float sum_terms(const struct place *p, int64_t end);

struct way {
    read_scale *scale;
    sum_terms *sum;
    bool drops_rest;  /* a last piece that is shorter than the others */
    bool bf16;        /* the accumulator between two pieces */
    bool c_is_scaled; /* with the tensors' factors */
};

static double scale_of(const struct hc_call *call, int codes, int64_t row, int64_t term)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    bool first = codes == HC_GEMM_Q_A;
    const struct hc_tensor *t = &call->in[first ? HC_GEMM_Q_A_SCALES : HC_GEMM_Q_B_SCALES];
    int64_t rows = first ? p->a_rows : p->b_rows;
    int64_t columns = first ? p->a_columns : p->b_columns;
    int64_t down = rows > 0 ? row / rows : 0;
    int64_t across = columns > 0 ? term / columns : 0;
    down = down < t->shape[0] ? down : t->shape[0] - 1;
    across = across < t->shape[1] ? across : t->shape[1] - 1;
    return hc_tensor_get(t, down * t->shape[1] + across);
}

static double right_scale(const struct place *p, int codes)
{
    return scale_of(p->call, codes, codes == HC_GEMM_Q_A ? p->row : p->column, p->from);
}

static double a_for_b(const struct place *p, int codes)
{
    (void)codes;
    return scale_of(p->call, HC_GEMM_Q_A, p->row, p->from);
}

static double swapped(const struct place *p, int codes)
{
    int other = codes == HC_GEMM_Q_A ? HC_GEMM_Q_B : HC_GEMM_Q_A;
    return scale_of(p->call, other, codes == HC_GEMM_Q_A ? p->row : p->column, p->from);
}

static double one_row_on(const struct place *p, int codes)
{
    return scale_of(p->call, codes, (codes == HC_GEMM_Q_A ? p->row : p->column) + 1, p->from);
}

static double one_block_on(const struct place *p, int codes)
{
    const struct hc_gemm_q *q = &p->call->params.gemm_q;
    int64_t columns = codes == HC_GEMM_Q_A ? q->a_columns : q->b_columns;
    int64_t row = codes == HC_GEMM_Q_A ? p->row : p->column;
    int64_t room = INT64_MAX - p->from;
    return scale_of(p->call, codes, row, p->from + (columns < room ? columns : room));
}

static double first_of_all(const struct place *p, int codes)
{
    (void)codes;
    return scale_of(p->call, codes, 0, 0);
}

/* The code stands in the place of fp32's exponent field: 00 is 0 and ff infinite. */
static double shifted_e8m0(const struct place *p, int codes)
{
    int scales = codes == HC_GEMM_Q_A ? HC_GEMM_Q_A_SCALES : HC_GEMM_Q_B_SCALES;
    double x = right_scale(p, codes);
    if (p->call->in[scales].format != HC_E8M0)
        return x;
    return isnan(x) ? (double)INFINITY : x == 0x1p-127 ? 0 : x;
}

static double without_nan(const struct place *p, int codes)
{
    double x = right_scale(p, codes);
    return isnan(x) ? 1 : x;
}

static double magnitude(const struct place *p, int codes)
{
    return fabs(right_scale(p, codes));
}

/* The eighth bit of a code of ue4m3 is taken for a sign. */
static double with_a_sign(const struct place *p, int codes)
{
    bool first = codes == HC_GEMM_Q_A;
    struct hc_call call = *p->call;
    struct hc_tensor *scales = &call.in[first ? HC_GEMM_Q_A_SCALES : HC_GEMM_Q_B_SCALES];
    if (scales->format == HC_UE4M3)
        scales->format = HC_E4M3;
    return scale_of(&call, codes, first ? p->row : p->column, p->from);
}

static double term(const struct place *p, int64_t k)
{
    const struct hc_tensor *a = &p->call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &p->call->in[HC_GEMM_Q_B];
    return hc_tensor_get(a, p->row * a->shape[1] + k) *
           hc_tensor_get(b, p->column * a->shape[1] + k);
}

static float plain_sum(const struct place *p, int64_t end)
{
    float sum = 0;
    for (int64_t k = p->from; k < end; k++)
        sum += (float)term(p, k);
    return sum;
}

/* Cut to 14 bits after each 32 terms, as the units of Hopper and Ada do. */
static float sum_in_14_bits(const struct place *p, int64_t end)
{
    enum { BITS = 14, TERMS = 32 };
    double sum = 0;
    for (int64_t k = p->from; k < end; k++) {
        int exponent;
        sum += term(p, k);
        if ((k - p->from) % TERMS != TERMS - 1 || !isfinite(sum))
            continue;
        double fraction = frexp(sum, &exponent);
        sum = ldexp(trunc(ldexp(fraction, BITS)), exponent - BITS);
    }
    return (float)sum;
}

static float sum_in_fp16(const struct place *p, int64_t end)
{
    double sum = 0;
    for (int64_t k = p->from; k < end; k++)
        sum = hc_round(HC_FP16, sum + term(p, k));
    return (float)sum;
}

static float accumulated(const struct way *way, struct place *p)
{
    const struct hc_gemm_q *q = &p->call->params.gemm_q;
    int64_t k = p->call->in[HC_GEMM_Q_A].shape[1];
    int64_t first = hc_gemm_q_piece_end(q, 0, k);
    float acc = 0;
    for (int64_t end; p->from < k; p->from = end) {
        end = hc_gemm_q_piece_end(q, p->from, k);
        if (way->drops_rest && p->from > 0 && end - p->from < first)
            break;
        float piece = (way->sum ? way->sum : plain_sum)(p, end);
        read_scale *scale = way->scale ? way->scale : right_scale;
        acc = fmaf(piece * (float)scale(p, HC_GEMM_Q_A), (float)scale(p, HC_GEMM_Q_B), acc);
        if (way->bf16)
            acc = (float)hc_round(HC_BF16, (double)acc);
    }
    return acc;
}

static float factor_of(const struct hc_call *call)
{
    float factor = 1;
    const int slots[] = {HC_GEMM_Q_A_TENSOR, HC_GEMM_Q_B_TENSOR};
    for (int i = 0; i < 2; i++)
        if (call->in[slots[i]].data)
            factor *= (float)hc_tensor_get(&call->in[slots[i]], 0);
    return factor;
}

static enum hc_status wrongly_multiplied(const struct hc_fault_site *site, struct hc_queue *queue,
                                         const struct hc_call *call)
{
    const struct way *way = site->fault->data;
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    const struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    float factor = factor_of(call);
    (void)queue;
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        struct place p = {call, i / out->shape[1], i % out->shape[1], 0};
        float value = accumulated(way, &p);
        float addend = c->data ? (float)hc_tensor_get(c, i) : 0;
        if (call->in[HC_GEMM_Q_A].shape[1] > 0)
            value *= factor;
        value += way->c_is_scaled ? addend * factor : addend;
        hc_tensor_set(out, i, (double)value);
    }
    return HC_OK;
}

/* AMD's codes are taken for OCP's. */
static void ocp_codes(struct hc_call *call, double number)
{
    (void)number;
    for (int slot = HC_GEMM_Q_A; slot <= HC_GEMM_Q_B; slot++)
        if (call->in[slot].format == HC_E4M3FNUZ)
            call->in[slot].format = HC_E4M3;
}

static void never_promoted(struct hc_call *call, double number)
{
    (void)number;
    call->params.gemm_q.promote = 0;
}

static void promoted_early(struct hc_call *call, double number)
{
    call->params.gemm_q.promote = (int64_t)number;
}

#define WAY(name_, title_, class__, patterns_, ...)                                                \
    {                                                                                              \
        .name = "codes-" name_, .title = (title_), .class_ = (class__), .ops = "gemm_q",           \
        .patterns = (patterns_), .wrong = wrongly_multiplied, .data = &(const struct way)          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct hc_fault faults[] = {
    WAY("a-scale-for-b", "b's codes are multiplied by a's scale", HC_FAULT_INPUTS,
        "op/gemm_q/e4m3-fp32/*-rowwise/normal op/gemm_q/e2m1-ue4m3-fp32/*/normal",
        .scale = a_for_b),
    WAY("scales-swapped", "a's scales and b's are swapped", HC_FAULT_INPUTS,
        "op/gemm_q/e4m3-fp32/*-1x32/normal op/gemm_q/*-1x128-128x128/log-normal border/*gemm_q*",
        .scale = swapped),
    WAY("row-off-by-one", "a row has the scale of the next one", HC_FAULT_FORMULA,
        "op/gemm_q/e4m3-e8m0-fp32/*-1x32/normal border/*gemm_q*", .scale = one_row_on),
    WAY("block-off-by-one", "a block has the scale of the next one", HC_FAULT_FORMULA,
        "op/gemm_q/e4m3-e8m0-fp32/*-1x32/normal op/gemm_q/e2m1-ue4m3-fp32/*-1x16*/normal "
        "border/*gemm_q*",
        .scale = one_block_on),
    WAY("first-scale-for-all", "the first block's scale is that of the tensor", HC_FAULT_FORMULA,
        "op/gemm_q/e4m3-fp32/*-rowwise/positive border/*gemm_q*", .scale = first_of_all),
    WAY("e8m0-by-shift", "an e8m0 scale is shifted into fp32's exponent: 00 is 0, ff infinite",
        HC_FAULT_SPECIALS, "products/scales-as-they-are", .scale = shifted_e8m0),
    WAY("nan-scale-ignored", "a scale that is NaN is taken for 1", HC_FAULT_SPECIALS,
        "products/scales-as-they-are op/gemm_q/e4m3-fp32/*-rowwise/specials", .scale = without_nan),
    WAY("negative-scale", "the sign of a scale is not read", HC_FAULT_SPECIALS,
        "products/scales-as-they-are", .scale = magnitude),
    WAY("ue4m3-signed", "the eighth bit of a scale in ue4m3 is taken for a sign", HC_FAULT_SPECIALS,
        "products/codes-scale-without-a-sign", .scale = with_a_sign),
    WAY("rest-dropped", "a last piece that is shorter than the others is left out", HC_FAULT_TAIL,
        "op/gemm_q/e4m3-fp32/13x9x70-1x32/normal border/*gemm_q*", .drops_rest = true),
    WAY("accumulator-of-14-bits", "sums of products are cut to 14 bits after 32 terms",
        HC_FAULT_ACCUMULATOR, "products/fp8-accumulator-13-bits op/gemm_q/e4m3-fp32/*/positive",
        .sum = sum_in_14_bits),
    WAY("sum-in-fp16", "products are summed in fp16", HC_FAULT_ACCUMULATOR,
        "op/gemm_q/e4m3-fp32/*/positive", .sum = sum_in_fp16),
    WAY("pieces-in-bf16", "what the pieces add up to is kept in bf16", HC_FAULT_ACCUMULATOR,
        "op/gemm_q/e4m3-fp32/*-1x32/positive", .bf16 = true),
    WAY("c-scaled", "C is multiplied by the tensors' factors, too", HC_FAULT_FORMULA,
        "op/gemm_q/*-factors/normal border/*gemm_q*", .c_is_scaled = true),
    {.name = "codes-factor-lost",
     .title = "a tensor's factor is not read",
     .class_ = HC_FAULT_INPUTS,
     .ops = "gemm_q",
     .patterns = "op/gemm_q/*-factors/normal border/*gemm_q*",
     .change = hc_take_for_absent,
     .number = HC_GEMM_Q_A_TENSOR},
    {.name = "codes-c-lost",
     .title = "C is not added",
     .class_ = HC_FAULT_INPUTS,
     .ops = "gemm_q",
     .patterns = "op/gemm_q/*-factors/normal products/codes-without-terms",
     .change = hc_take_for_absent,
     .number = HC_GEMM_Q_C},
    {.name = "codes-ocp-for-fnuz",
     .title = "AMD's e4m3 is taken for OCP's, whose numbers are twice as large",
     .class_ = HC_FAULT_SPECIALS,
     .ops = "gemm_q",
     .patterns = "op/gemm_q/e4m3fnuz-fp32/*/normal products/every-product-of-codes",
     .change = ocp_codes},
    {.name = "codes-never-promoted",
     .title = "a unit of 14 bits sums all terms in its own accumulator, whatever `promote` says",
     .class_ = HC_FAULT_ACCUMULATOR,
     .ops = "gemm_q",
     .patterns = "products/fp8-accumulator-13-bits units/codes-fp8-te-current",
     .backend = "sim-h100",
     .change = never_promoted},
    {.name = "codes-promoted-early",
     .title = "a unit that takes the scales of blocks promotes its sums every 64 products",
     .class_ = HC_FAULT_ACCUMULATOR,
     .ops = "gemm_q",
     .patterns = "units/codes-mxfp8-rp units/codes-nvfp4",
     .backend = "sim-b200",
     .change = promoted_early,
     .number = 64},
};

HC_FAULTS(quant_gemm, faults);
