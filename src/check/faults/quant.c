/* Quantising that rounds twice or by way of another format, takes the scale of another block,
   divides where it should multiply, or makes a transpose of what is quantised already; and delayed
   scales that move when they should not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"

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
    double tensor = hc_tensor_get(&call->out[HC_QUANTIZE_TENSOR], 0);
    double scale = hc_round(HC_FP32, hc_tensor_get(&call->out[HC_QUANTIZE_SCALES], block) * tensor);
    return hc_round(HC_FP32, x / scale);
}

/* A wrong number for a code, from the number over its scale; t as it is where it is right. */
typedef double recode(const struct hc_call *call, int64_t at, int64_t block, double t);

/* The codes as they are, but those that the row's function says another number for. */
static enum hc_status recoded(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    recode *const *wrong = site->fault->data;
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    enum hc_status status = site->right(queue, call);
    for (int64_t at = 0; status == HC_OK && at < hc_tensor_count(codes); at++) {
        int64_t block = block_of(codes, &call->out[HC_QUANTIZE_SCALES], p->rows, p->columns, at);
        double x = source_of(call, at);
        double t = over_scale(call, x, block);
        double other = isfinite(t) ? (*wrong)(call, at, block, t) : t;
        if (isfinite(t) && !p->random_bits && !(other == t))
            hc_tensor_set_bits(codes, at, hc_encode_saturated(codes->format, other, 0, HC_NEAREST));
    }
    return status;
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

static recode *const by_bf16 = through_bf16;
static recode *const by_fp16 = through_fp16;
static recode *const away = ties_away;
static recode *const late = block_late;

/* Rounded over the scale, and not times its reciprocal. */
static enum hc_status divided(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    enum hc_status status = site->right(queue, call);
    for (int64_t at = 0; status == HC_OK && at < hc_tensor_count(codes); at++) {
        double t =
            over_scale(call, source_of(call, at),
                       block_of(codes, &call->out[HC_QUANTIZE_SCALES], p->rows, p->columns, at));
        if (isfinite(t) && !p->random_bits)
            hc_tensor_set_bits(codes, at, hc_encode_saturated(codes->format, t, 0, HC_NEAREST));
    }
    return status;
}

/* Scales of fp32 are the multipliers, not their reciprocals. */
static enum hc_status inverted(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    enum hc_status status = site->right(queue, call);
    for (int64_t b = 0; scales->format == HC_FP32 && b < hc_tensor_count(scales); b++)
        hc_tensor_set(scales, b, 1 / hc_tensor_get(scales, b));
    return status;
}

/* A byte of a word of four scales gets the fraction of the number behind it, whose exponent alone
   was to be packed: the block's amax stands for that. */
static enum hc_status leaked(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    enum hc_status status = site->right(queue, call);
    for (int64_t at = 0; scales->format == HC_E8M0 && at < hc_tensor_count(codes); at++) {
        int64_t b = block_of(codes, scales, p->rows, p->columns, at);
        float x = (float)source_of(call, at);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (b % 4 != 0 && isfinite(x))
            hc_tensor_set_bits(scales, b - 1, hc_tensor_bits(scales, b - 1) | (bits >> 22 & 1));
    }
    return status;
}

/* A transpose is quantised from codes, which are decoded before: x is replaced by what its rows'
   codes are worth. */
static enum hc_status requantised(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    struct hc_call rows = *call;
    struct hc_call again = *call;
    struct hc_quantize *p = &rows.params.quantize;
    float unused[2];
    if (!p->transpose || p->hadamard || hc_tensor_count(x) == 0)
        return site->right(queue, call);
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
    enum hc_status status = site->right(queue, &rows);
    for (int64_t at = 0; at < hc_tensor_count(x); at++)
        hc_tensor_set(&again.in[HC_QUANTIZE_X], at,
                      hc_tensor_get(codes, at) *
                          hc_tensor_get(scales, block_of(codes, scales, p->rows, p->columns, at)) *
                          (double)unused[0]);
    status = status == HC_OK ? site->right(queue, &again) : status;
    free(memory);
    return status;
}

static void without_hadamard(struct hc_call *call, double number)
{
    (void)number;
    call->params.quantize.hadamard = false;
}

static void to_nearest(struct hc_call *call, double number)
{
    (void)number;
    call->params.quantize.random_bits = 0;
}

static void bits_fewer(struct hc_call *call, double number)
{
    int *bits = &call->params.quantize.random_bits;
    if (*bits > (int)number)
        *bits -= (int)number;
}

/* The rule in `data` is taken for the one with the row's number. */
static enum hc_status by_other_rule(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    const enum hc_scale_rule *of = site->fault->data;
    struct hc_call other = *call;
    if (call->params.quantize.rule == *of)
        other.params.quantize.rule = (enum hc_scale_rule)site->fault->number;
    return site->right(queue, &other);
}

static const enum hc_scale_rule floor_rule = HC_SCALE_MX_FLOOR;
static const enum hc_scale_rule rp_rule = HC_SCALE_MX_RP;
static const enum hc_scale_rule nvfp4_rule = HC_SCALE_NVFP4_TE;

#define OP    "quantize"
#define CASES "op/quantize/* bits/quantize/*"

static const struct hc_fault faults[] = {
    {"quantize-through-bf16", "numbers are rounded into bf16 before they become codes",
     HC_FAULT_ROUNDING, OP, CASES, .wrong = recoded, .data = &by_bf16},
    {"quantize-through-fp16", "numbers are rounded into fp16 before they become codes",
     HC_FAULT_ROUNDING, OP, "op/quantize/*/boundaries bits/quantize/*", .wrong = recoded,
     .data = &by_fp16},
    {"quantize-ties-away", "numbers half way between two codes go away from zero",
     HC_FAULT_ROUNDING, OP, "op/quantize/*/boundaries bits/quantize/*", .wrong = recoded,
     .data = &away, .place = HC_PLACE_HOST},
    {"quantize-block-late", "the first column of a block has the scale of the block before",
     HC_FAULT_FORMULA, OP, CASES, .wrong = recoded, .data = &late},
    {"quantize-divides", "numbers are divided by the scale where its reciprocal multiplies them",
     HC_FAULT_ROUNDING, OP, CASES, .wrong = divided},
    {"quantize-scale-inverted", "the stored scale is the multiplier, not its reciprocal",
     HC_FAULT_FORMULA, OP, CASES, .wrong = inverted},
    {"quantize-mantissa-leaks", "a packed power of two has a bit of its neighbour's fraction",
     HC_FAULT_FORMULA, OP, "op/quantize/*1x32*/* bits/quantize/*", .wrong = leaked},
    {"quantize-transposed-codes", "a transpose is quantised from codes and not from x",
     HC_FAULT_FORMULA, OP, "op/quantize/*-transpose/* bits/quantize/*", .wrong = requantised},
    {"quantize-no-hadamard", "the Hadamard matrix is left out", HC_FAULT_FORMULA, OP,
     "op/quantize/*-hadamard*/*", .change = without_hadamard},
    {"quantize-not-random", "random bits are left out, and codes are rounded to nearest",
     HC_FAULT_STOCHASTIC, OP, "op/quantize/*-random-*/* bits/quantize/*", .change = to_nearest},
    {"quantize-bit-fewer", "codes are rounded with one random bit fewer", HC_FAULT_STOCHASTIC, OP,
     "op/quantize/*-random-*/* bits/quantize/*", .change = bits_fewer, .number = 1,
     .place = HC_PLACE_HOST},
    {"quantize-rp-as-floor", "scales that keep the largest element are rounded down",
     HC_FAULT_FORMULA, OP, CASES, .wrong = by_other_rule, .data = &rp_rule,
     .number = HC_SCALE_MX_FLOOR},
    {"quantize-floor-as-even", "scales that are rounded down are rounded to nearest",
     HC_FAULT_FORMULA, OP, CASES, .wrong = by_other_rule, .data = &floor_rule,
     .number = HC_SCALE_MX_EVEN, .place = HC_PLACE_HOST},
    {"quantize-reciprocal-levels", "scales of two levels come from other divisions",
     HC_FAULT_ROUNDING, OP, "op/quantize/*nvfp4*/*", .wrong = by_other_rule, .data = &nvfp4_rule,
     .number = HC_SCALE_NVFP4_TORCHAO},
    {"common-quantize-bf16", "numbers are rounded into bf16 before codes in all backends",
     HC_FAULT_COMMON, OP, "op/quantize/*", .like = "quantize-through-bf16", .place = HC_PLACE_BOTH},
    {"common-quantize-transposed", "transposes are quantised from codes in all backends",
     HC_FAULT_COMMON, OP, "op/quantize/*", .like = "quantize-transposed-codes",
     .place = HC_PLACE_BOTH},
    {"common-quantize-late", "blocks begin a column late in all backends", HC_FAULT_COMMON, OP,
     "op/quantize/*", .like = "quantize-block-late", .place = HC_PLACE_BOTH},
};

HC_FAULTS(quant, faults);
