/* Matrix units that are not what they are said to be. */
#include <assert.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "unit/unit.h"

/* Defects of a matrix unit: a bit more or less, other pieces, another rounding, C in another place.
   Each is planted in the backend of a unit, and one probe of it must see it. */

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

static enum hc_status on_a_wrong_unit(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct unit_fault *row = site->fault->data;
    struct hc_unit unit = *hc_unit_by_name(row->unit);
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    if (!is_on(&unit, call))
        return hc_right(site, call);
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

/* No unit at all: a backend that says it has one, and sums in fp32 as `exact` does. It does not
   take `host`, which may use the very unit of the CPU. */

/* The product as `exact` has it, on a queue that is never closed. */
static enum hc_status in_fp32(const struct hc_fault_site *site, const struct hc_call *call)
{
    static struct hc_queue *own;
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_call same = *call;
    (void)site;
    enum hc_status status = own ? HC_OK : hc_backend_open(exact, &own, 1);
    if (status != HC_OK)
        return status;
    size_t bytes = exact->scratch ? exact->scratch(own, call) : 0;
    void *scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    assert(!bytes || scratch);
    same.scratch = scratch;
    status = exact->kernel[call->op](own, &same);
    free(scratch);
    return status;
}

#define IN_FP32(machine, probe)                                                                    \
    {                                                                                              \
        .name = "unit-is-fp32-" machine, .title = machine "'s unit is said, and fp32 sums",        \
        .class_ = HC_FAULT_UNIT, .ops = "gemm",                                                    \
        .patterns = "units/" probe " units/by-big-integers", .backend = "sim-" machine,            \
        .wrong = in_fp32                                                                           \
    }

static const struct hc_fault faults[] = {
#include "check/faults/unit.def"
};

HC_FAULTS(unit, faults);
