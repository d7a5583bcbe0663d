/* Matrix units that are not what they are said to be. */
#include <assert.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "unit/unit.h"

/* Defects of a matrix unit: a bit more or less, other pieces, another rounding, C in another place.
   Each is planted in the backend of a unit, and one probe of it must see it. */

struct unit_fault {
    const char *unit;
    int more;         /* bits of the fraction, or fewer */
    bool half_piece;  /* half as many products at once */
    bool first_first; /* the order of two pieces is turned round */
    bool c_last;      /* The products are summed alone, and C is added to the result. */
    struct {
        size_t at; /* of a member of struct hc_unit that is an int, 0: of none; */
        int is;    /* which becomes this */
    } member[2];
};

static struct hc_unit wrong_unit(const struct unit_fault *row)
{
    struct hc_unit unit = *hc_unit_by_name(row->unit);
    unit.fraction += row->more;
    unit.piece /= row->half_piece ? 2 : 1;
    unit.last_first = unit.last_first && !row->first_first;
    for (int i = 0; i < 2 && row->member[i].at; i++)
        *(int *)((char *)&unit + row->member[i].at) = row->member[i].is;
    return unit;
}

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
    unit = wrong_unit(row);
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

#define IS(name, value)  .member[0] = {offsetof(struct hc_unit, name), value}
#define AND(name, value) .member[1] = {offsetof(struct hc_unit, name), value}
#define ROW(name_, title_, backend_, probe, ...)                                                   \
    {                                                                                              \
        .name = "unit-" name_, .title = (title_), .class_ = HC_FAULT_UNIT, .ops = "gemm",          \
        .patterns = "units/" probe, .backend = (backend_), .wrong = on_a_wrong_unit,               \
        .data = &(const struct unit_fault)                                                         \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
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
