/* Tensors below half: their codes, their scales, and products of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"

/* Quantising that rounds twice or by way of another format, takes the scale of another block,
   divides where it should multiply, or makes a transpose of what is quantised already; and delayed
   scales that move when they should not. */

static int64_t block_of(const struct hc_tensor *codes, const struct hc_tensor *scales, int64_t rows,
                        int64_t columns, int64_t at)
{
    int64_t down = rows > 0 ? at / codes->shape[1] / rows : 0;
    int64_t across = columns > 0 ? at % codes->shape[1] / columns : 0;
    return down * scales->shape[1] + across;
}

/* The number that is quantised into code `at`; NaN where a Hadamard matrix comes before. */
static double source_of(const struct hc_call *call, int64_t at)
{
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    int64_t columns = call->out[HC_QUANTIZE_CODES].shape[1];
    if (call->params.quantize.hadamard)
        return (double)NAN;
    if (!call->params.quantize.transpose)
        return hc_tensor_get(x, at);
    return hc_tensor_get(x, at % columns * x->shape[1] + at / columns);
}

/* What x comes to over the scale of that block and the tensor's, in fp32. */
static double over_scale(const struct hc_call *call, double x, int64_t block)
{
    double tensor = hc_out(call, HC_QUANTIZE_TENSOR, 0);
    double scale = hc_round(HC_FP32, hc_out(call, HC_QUANTIZE_SCALES, block) * tensor);
    return hc_round(HC_FP32, x / scale);
}

/* A wrong number for a code, from the number over its scale; t as it is where it is right. */
typedef double recode(const struct hc_call *call, int64_t at, int64_t block, double t);

/* The codes as they are, but those that the row's function says another number for. */
static void recoded(const struct hc_call *call, const struct hc_fault *row)
{
    recode *const *wrong = row->data;
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    for (int64_t at = 0; at < hc_tensor_count(codes); at++) {
        int64_t block = block_of(codes, &call->out[HC_QUANTIZE_SCALES], p->rows, p->columns, at);
        double x = source_of(call, at);
        double t = over_scale(call, x, block);
        double other = isfinite(t) ? (*wrong)(call, at, block, t) : t;
        if (isfinite(t) && !p->random_bits && !(other == t))
            hc_tensor_set_bits(codes, at, hc_encode_saturated(codes->format, other, 0, HC_NEAREST));
    }
}

static double through_bf16(const struct hc_call *call, int64_t at, int64_t block, double t)
{
    (void)call, (void)at, (void)block;
    return hc_round(HC_BF16, t);
}

static double through_fp16(const struct hc_call *call, int64_t at, int64_t block, double t)
{
    (void)call, (void)at, (void)block;
    double half = hc_round(HC_FP16, t);
    return isfinite(half) ? half : t;
}

/* Ties go away from zero: a little more than the number, which moves nothing else. */
static double ties_away(const struct hc_call *call, int64_t at, int64_t block, double t)
{
    (void)call, (void)at, (void)block;
    return t * (1 + 0x1p-30);
}

/* The block begins one column early, with the scale of the one before it. */
static double block_late(const struct hc_call *call, int64_t at, int64_t block, double t)
{
    const struct hc_quantize *p = &call->params.quantize;
    int64_t column = at % call->out[HC_QUANTIZE_CODES].shape[1];
    if (p->columns == 0 || column < p->columns || column % p->columns != 0)
        return t;
    return over_scale(call, source_of(call, at), block - 1);
}

/* Rounded over the scale, and not times its reciprocal. */
static void divided(const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    for (int64_t at = 0; at < hc_tensor_count(codes); at++) {
        double t =
            over_scale(call, source_of(call, at),
                       block_of(codes, &call->out[HC_QUANTIZE_SCALES], p->rows, p->columns, at));
        if (isfinite(t) && !p->random_bits)
            hc_tensor_set_bits(codes, at, hc_encode_saturated(codes->format, t, 0, HC_NEAREST));
    }
}

/* Scales of fp32 are the multipliers, not their reciprocals. */
static void inverted(const struct hc_call *call)
{
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    for (int64_t b = 0; scales->format == HC_FP32 && b < hc_tensor_count(scales); b++)
        hc_tensor_set(scales, b, 1 / hc_tensor_get(scales, b));
}

/* A byte of a word of four scales gets the fraction of the number behind it, whose exponent alone
   was to be packed: the block's amax stands for that. */
static void leaked(const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    for (int64_t at = 0; scales->format == HC_E8M0 && at < hc_tensor_count(codes); at++) {
        int64_t b = block_of(codes, scales, p->rows, p->columns, at);
        float x = (float)source_of(call, at);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (b % 4 != 0 && isfinite(x))
            hc_tensor_set_bits(scales, b - 1, hc_tensor_bits(scales, b - 1) | (bits >> 22 & 1));
    }
}

/* A transpose is quantised from codes, which are decoded before: x is replaced by what its rows'
   codes are worth. */
static enum hc_status requantised(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    struct hc_call rows = *call;
    struct hc_call again = *call;
    struct hc_quantize *p = &rows.params.quantize;
    float unused[2];
    if (!p->transpose || p->hadamard || hc_tensor_count(x) == 0)
        return hc_right(site, call);
    p->transpose = false;
    rows.out[HC_QUANTIZE_CODES] =
        hc_tensor2(call->out[HC_QUANTIZE_CODES].format, x->shape[0], x->shape[1], NULL);
    struct hc_tensor *codes = &rows.out[HC_QUANTIZE_CODES];
    struct hc_tensor *scales = &rows.out[HC_QUANTIZE_SCALES];
    *scales = hc_tensor2(scales->format, hc_quant_blocks(x->shape[0], p->rows),
                         hc_quant_blocks(x->shape[1], p->columns), NULL);
    size_t bytes = ((size_t)hc_tensor_count(x) * sizeof(float) + 64) / 64 * 64;
    char *memory = aligned_alloc(64, 5 * bytes);
    if (!memory)
        abort();
    codes->data = memory;
    scales->data = memory + bytes;
    rows.scratch = memory + 2 * bytes; /* a number for each row and block */
    rows.out[HC_QUANTIZE_TENSOR].data = &unused[0];
    rows.out[HC_QUANTIZE_AMAX].data = &unused[1];
    again.in[HC_QUANTIZE_X] = hc_tensor2(HC_FP32, x->shape[0], x->shape[1], memory + 4 * bytes);
    enum hc_status status = hc_right(site, &rows);
    for (int64_t at = 0; at < hc_tensor_count(x); at++)
        hc_tensor_set(&again.in[HC_QUANTIZE_X], at,
                      hc_tensor_get(codes, at) *
                          hc_tensor_get(scales, block_of(codes, scales, p->rows, p->columns, at)) *
                          (double)unused[0]);
    status = status == HC_OK ? hc_right(site, &again) : status;
    free(memory);
    return status;
}

static void bits_fewer(struct hc_call *call, const struct hc_fault *row)
{
    int *bits = &call->params.quantize.random_bits;
    if (*bits > (int)row->number)
        *bits -= (int)row->number;
}

/* The rule in `data` is taken for the one with the row's number. */
static void by_other_rule(struct hc_call *call, const struct hc_fault *row)
{
    const enum hc_scale_rule *of = row->data;
    if (call->params.quantize.rule == *of)
        call->params.quantize.rule = (enum hc_scale_rule)row->number;
}

/* Codes decoded under wrong scales, and delayed scales that move when they should not. */

/* The smallest power of two, whose code is 0, is taken for zero, as a shift into an exponent
   field makes it. */
static void least_as_zero(const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    for (int64_t at = 0; scales->format == HC_E8M0 && at < hc_tensor_count(codes); at++) {
        int64_t down = p->rows > 0 ? at / codes->shape[1] / p->rows : 0;
        int64_t across = p->columns > 0 ? at % codes->shape[1] / p->columns : 0;
        if (hc_tensor_bits(scales, down * scales->shape[1] + across) == 0)
            hc_give(call, HC_DEQUANTIZE_Y, at, 0);
    }
}

/* The block's scale and the tensor's are multiplied first. */
static void scales_first(const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    const struct hc_tensor *tensor = &call->in[HC_DEQUANTIZE_TENSOR];
    for (int64_t at = 0; tensor->data && at < hc_tensor_count(codes); at++) {
        int64_t down = p->rows > 0 ? at / codes->shape[1] / p->rows : 0;
        int64_t across = p->columns > 0 ? at % codes->shape[1] / p->columns : 0;
        double scale = hc_round(HC_FP32, hc_tensor_get(scales, down * scales->shape[1] + across) *
                                             hc_tensor_get(tensor, 0));
        hc_give(call, HC_DEQUANTIZE_Y, at, hc_round(HC_FP32, hc_tensor_get(codes, at) * scale));
    }
}

/* mx-even cuts the amax to the element's precision, as mx-floor does, in place of rounding it. */
static void even_cuts(struct hc_call *call)
{
    if (call->params.quantize.rule == HC_SCALE_MX_EVEN)
        call->params.quantize.rule = HC_SCALE_MX_FLOOR;
}

/* The history of a tensor that was idle moves, too. */
static void rolled_idle(const struct hc_call *call)
{
    const struct hc_tensor *amax = &call->in[HC_DELAYED_AMAX];
    const struct hc_tensor *history = &call->out[HC_DELAYED_NEW_HISTORY];
    int64_t tensors = history->shape[1];
    int64_t steps = history->shape[0];
    for (int64_t t = 0; t < tensors && call->params.delayed_scale.rule == HC_DELAYED_TE; t++) {
        if (hc_tensor_get(amax, t) != 0)
            continue;
        for (int64_t i = 0; i + 1 < steps; i++)
            hc_tensor_set(history, i * tensors + t, hc_tensor_get(history, (i + 1) * tensors + t));
        hc_tensor_set(history, (steps - 1) * tensors + t, 0);
        hc_tensor_set(history, t, 0);
    }
}

/* The fused kernel's scale comes from a product with the reciprocal, as in Python. */
static void by_reciprocal(struct hc_call *call, const struct hc_fault *row)
{
    if (call->params.delayed_scale.rule == HC_DELAYED_TE)
        call->params.delayed_scale.rule = (enum hc_delayed_rule)row->number;
}

/* Defects of products of quantised matrices: scales of other blocks, of the other factor or read
   wrongly, accumulators of few bits, and what stands around the sum. */

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

static enum hc_status wrongly_multiplied(const struct hc_fault_site *site,
                                         const struct hc_call *call)
{
    const struct way *way = site->fault->data;
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    const struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    float factor = factor_of(call);
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
static void ocp_codes(struct hc_call *call)
{
    for (int slot = HC_GEMM_Q_A; slot <= HC_GEMM_Q_B; slot++)
        if (call->in[slot].format == HC_E4M3FNUZ)
            call->in[slot].format = HC_E4M3;
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
#include "check/faults/codes.def"
};

HC_FAULTS(codes, faults);
