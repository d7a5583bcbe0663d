/* Defects of a matrix unit: a bit more or less, other pieces, another rounding, C in another place.
   Each is planted in the backend of a unit, and one probe of it must see it. */
#include <assert.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "unit/unit.h"

typedef void change_unit(struct hc_unit *unit);

struct unit_fault {
    const char *unit;
    change_unit *change; /* NULL: none */
    bool c_last;         /* The products are summed alone, and C is added to the result. */
};

static uint32_t code(const struct hc_tensor *t, int64_t i)
{
    return (uint32_t)hc_tensor_bits(t, i);
}

/* Whether the call is one of the unit's, as probes make it. */
static bool is_on(const struct hc_unit *unit, const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    enum hc_operand a =
        hc_call_tf32(call) ? HC_OPERAND_TF32 : hc_operand_of(call->in[HC_GEMM_A].format);
    enum hc_operand b =
        hc_call_tf32(call) ? HC_OPERAND_TF32 : hc_operand_of(call->in[HC_GEMM_B].format);
    enum hc_operand c = hc_operand_of(call->in[HC_GEMM_C].format);
    bool half = unit->d == HC_OPERAND_FP16;
    return a == unit->a && b == unit->b && p->half_accumulator == half && p->alpha == 1 &&
           p->beta == 1 && c == unit->c &&
           hc_operand_of(call->out[HC_GEMM_OUT].format) == unit->d && !p->transpose_a &&
           !p->transpose_b && call->in[HC_GEMM_C].rank == 2;
}

/* D + C in fp32 or fp16, rounded to nearest. */
static uint32_t add_c(const struct hc_tensor *c, uint32_t d, uint32_t bits)
{
    double sum = hc_decode(c->format, d) + hc_decode(c->format, bits);
    return (uint32_t)hc_encode(c->format, sum, 0, HC_NEAREST);
}

static enum hc_status on_a_wrong_unit(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    const struct unit_fault *row = site->fault->data;
    struct hc_unit unit = *hc_unit_by_name(row->unit);
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    if (!is_on(&unit, call))
        return site->right(queue, call);
    if (row->change)
        row->change(&unit);
    int64_t columns = call->in[HC_GEMM_B].shape[1];
    int64_t terms = call->in[HC_GEMM_A].shape[1];
    uint32_t *a = calloc((size_t)terms + 1, 2 * sizeof *a);
    assert(a);
    uint32_t *b = a + terms;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_GEMM_OUT]); i++) {
        for (int64_t k = 0; k < terms; k++) {
            a[k] = code(&call->in[HC_GEMM_A], i / columns * terms + k);
            b[k] = code(&call->in[HC_GEMM_B], k * columns + i % columns);
        }
        uint32_t d = hc_unit_dot(&unit, a, b, NULL, terms, row->c_last ? 0 : code(c, i));
        hc_tensor_set_bits(&call->out[HC_GEMM_OUT], i, row->c_last ? add_c(c, d, code(c, i)) : d);
    }
    free(a);
    return HC_OK;
}

static void one_bit_more(struct hc_unit *unit)
{
    unit->fraction++;
}

static void one_bit_less(struct hc_unit *unit)
{
    unit->fraction--;
}

static void half_a_piece(struct hc_unit *unit)
{
    unit->piece /= 2;
}

static void floors(struct hc_unit *unit)
{
    unit->alignment = HC_ROUND_FLOOR;
}

static void rounds_products(struct hc_unit *unit)
{
    unit->alignment = HC_ROUND_NEAREST;
}

static void as_on_hopper(struct hc_unit *unit)
{
    unit->fraction = unit->output_fraction = 13;
}

static void cuts_c(struct hc_unit *unit)
{
    unit->rule = HC_UNIT_FUSED;
}

static void rounds(struct hc_unit *unit)
{
    unit->output = HC_ROUND_NEAREST;
}

static void cuts(struct hc_unit *unit)
{
    unit->output = HC_ROUND_CUT;
}

static void ignores_zeros(struct hc_unit *unit)
{
    unit->zero_exponent = unit->zero_c_exponent = -1000;
}

static void keeps_subnormals(struct hc_unit *unit)
{
    unit->inputs = HC_INPUTS_KEPT;
    unit->underflow = HC_UNDERFLOW_GRADUAL;
}

static void in_pairs(struct hc_unit *unit)
{
    unit->rule = HC_UNIT_PAIRWISE;
}

static void flushes_what_is_rounded(struct hc_unit *unit)
{
    unit->underflow = HC_UNDERFLOW_FLUSHED_AFTER;
}

static void first_first(struct hc_unit *unit)
{
    unit->last_first = false;
}

static void keeps_fp32(struct hc_unit *unit)
{
    unit->output_fraction = 23;
}

static void one_chain(struct hc_unit *unit)
{
    unit->rule = HC_UNIT_CHAIN;
}

static const struct unit_fault v100_more = {"v100-fp16-fp32", one_bit_more, false};
static const struct unit_fault v100_c = {"v100-fp16-fp32", NULL, true};
static const struct unit_fault t4_half = {"t4-fp16-fp32", half_a_piece, false};
static const struct unit_fault a100_more = {"a100-fp16-fp32", one_bit_more, false};
static const struct unit_fault a100_less = {"a100-fp16-fp32", one_bit_less, false};
static const struct unit_fault a100_half = {"a100-fp16-fp32", half_a_piece, false};
static const struct unit_fault a100_floor = {"a100-fp16-fp32", floors, false};
static const struct unit_fault a100_round = {"a100-fp16-fp32", rounds, false};
static const struct unit_fault a100_c = {"a100-fp16-fp32", NULL, true};
static const struct unit_fault a100_zero = {"a100-bf16-fp32", ignores_zeros, false};
static const struct unit_fault a100_half_cut = {"a100-fp16-fp16", cuts, false};
static const struct unit_fault h100_less = {"h100wgmma-fp16-fp32", one_bit_less, false};
static const struct unit_fault h100_half = {"h100wgmma-bf16-fp32", half_a_piece, false};
static const struct unit_fault h100_zero = {"h100wgmma-tf32-fp32", ignores_zeros, false};
static const struct unit_fault h100_fp8_more = {"h100wgmma-e4m3-fp32", one_bit_more, false};
static const struct unit_fault h100_fp8_less = {"h100wgmma-e5m2-fp32", one_bit_less, false};
static const struct unit_fault h100_fp8_half = {"h100wgmma-e4m3xe5m2-fp32", half_a_piece, false};
static const struct unit_fault h100_fp8_fp32 = {"h100wgmma-e5m2xe4m3-fp32", keeps_fp32, false};
static const struct unit_fault h100_fp8_round = {"h100wgmma-e4m3-fp32", rounds_products, false};
static const struct unit_fault ada_fp8_c = {"ada-e4m3-fp32", NULL, true};
static const struct unit_fault b200_fp8_13 = {"b200-e4m3-fp32", as_on_hopper, false};
static const struct unit_fault mi100_pairs = {"mi100-fp16-fp32", in_pairs, false};
static const struct unit_fault mi250_keeps = {"mi250x-fp16-fp32", keeps_subnormals, false};
static const struct unit_fault mi300_cuts = {"mi300x-fp16-fp32", cuts_c, false};
static const struct unit_fault mi300_fp8_half = {"mi300x-fp8-fp32", half_a_piece, false};
static const struct unit_fault x86_order = {"avx512bf16-bf16-fp32", first_first, false};
static const struct unit_fault x86_sliver = {"avx512bf16-bf16-fp32", flushes_what_is_rounded,
                                             false};
static const struct unit_fault amx_chain = {"amx-bf16-fp32", one_chain, false};

#define ROW(name_, title_, backend_, probe, row)                                                   \
    {                                                                                              \
        .name = "unit-" name_, .title = (title_), .class_ = HC_FAULT_UNIT, .ops = "gemm",          \
        .patterns = "units/" probe, .backend = (backend_), .wrong = on_a_wrong_unit,               \
        .data = &(row)                                                                             \
    }

static const struct hc_fault faults[] = {
    ROW("v100-bit-more", "V100 keeps 24 fraction bits", "sim-v100", "fasi/d1", v100_more),
    ROW("v100-c-last", "V100 adds C to the rounded sum", "sim-v100", "fasi/d1", v100_c),
    ROW("t4-half-piece", "T4 adds four products at once", "sim-t4", "pieces", t4_half),
    ROW("a100-bit-more", "A100 keeps 25 fraction bits", "sim-a100", "fasi/b3-t4", a100_more),
    ROW("a100-bit-less", "A100 keeps 23 fraction bits", "sim-a100", "fasi/d1", a100_less),
    ROW("a100-half-piece", "A100 adds four halves' products at once", "sim-a100", "pieces",
        a100_half),
    ROW("a100-floors", "A100 floors where it should cut", "sim-a100", "fasi/c2", a100_floor),
    ROW("a100-rounds", "A100 rounds its result to nearest", "sim-a100", "fasi/d4-cut", a100_round),
    ROW("a100-c-last", "A100 adds C to the rounded sum", "sim-a100", "fasi/b3-t4", a100_c),
    ROW("a100-ignores-zeros", "A100 looks for no zero when it aligns", "sim-a100",
        "zero-exponent/fp32", a100_zero),
    ROW("a100-cuts-to-half", "A100 cuts its result to half", "sim-a100", "fasi/half/c3",
        a100_half_cut),
    ROW("h100-bit-less", "H100 keeps 24 fraction bits", "sim-h100", "mma-sim/discrepancy",
        h100_less),
    ROW("h100-half-piece", "H100 adds eight products of bf16 at once", "sim-h100", "pieces",
        h100_half),
    ROW("h100-ignores-zeros", "H100 looks for no zero when it aligns", "sim-h100",
        "zero-exponent/fp32", h100_zero),
    ROW("h100-fp8-bit-more", "H100 keeps 14 fraction bits of fp8", "sim-h100", "fp8/each-product",
        h100_fp8_more),
    ROW("h100-fp8-bit-less", "H100 keeps 12 fraction bits of fp8", "sim-h100", "fp8/thirteen-bits",
        h100_fp8_less),
    ROW("h100-fp8-half-piece", "H100 adds 16 products of fp8 at once", "sim-h100", "pieces",
        h100_fp8_half),
    ROW("h100-fp8-result", "H100 keeps the sum of fp8 in all of fp32", "sim-h100", "fp8/result",
        h100_fp8_fp32),
    ROW("h100-fp8-rounds", "H100 rounds products of fp8 where it should cut", "sim-h100", "fp8/cut",
        h100_fp8_round),
    ROW("l40-fp8-c-last", "Ada adds C to the sum of fp8, rounded to nearest", "sim-l40", "fp8/c",
        ada_fp8_c),
    ROW("b200-fp8-as-h100", "B200 keeps 13 fraction bits of fp8", "sim-b200", "fp8/fourteen-bits",
        b200_fp8_13),
    ROW("mi100-in-pairs", "MI100 rounds products and pairs as MI250X does", "sim-mi100",
        "mma-sim/discrepancy", mi100_pairs),
    ROW("mi250-keeps-subnormals", "MI250X does not flush subnormal halves", "sim-mi250", "fasi/a2",
        mi250_keeps),
    ROW("mi300-cuts", "MI300X cuts C where it should floor it", "sim-mi300", "fttn/rounds-c-down",
        mi300_cuts),
    ROW("mi300-fp8-half-piece", "MI300X adds eight products of fp8 at once", "sim-mi300", "pieces",
        mi300_fp8_half),
    ROW("vdpbf16ps-in-order", "VDPBF16PS adds the first product of a pair first", "sim-avx512bf16",
        "order", x86_order),
    ROW("vdpbf16ps-flushes-late", "VDPBF16PS is fmaf, and flushes", "sim-avx512bf16",
        "sliver/three-quarters", x86_sliver),
    ROW("amx-one-chain", "AMX adds products to C, one after the other", "sim-amx", "pieces",
        amx_chain),
};

HC_FAULTS(units, faults);
