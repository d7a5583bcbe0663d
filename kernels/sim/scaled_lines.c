#include "kernels/sim/scaled_lines.h"

#include <assert.h>

static void read_side(struct hc_sim_side *side, const struct hc_unit *u, enum hc_operand operand)
{
    uint32_t mask = (1u << hc_operands[operand].bits) - 1;
    for (uint32_t code = 0; code < HC_SIM_CODES; code++) {
        side->value[code] = hc_operand_decode(operand, code & mask);
        side->factor[code] = hc_operand_decode(u->scale, code);
    }
}

struct hc_sim_scaled hc_sim_scaled_of(const struct hc_unit *u, const struct hc_call *call)
{
    int64_t k = call->in[HC_GEMM_Q_A].shape[1];
    struct hc_sim_scaled w = {
        .u = u,
        .k = k,
        .padded = (k + u->k - 1) / u->k * u->k,
        .a = {.codes = &call->in[HC_GEMM_Q_A], .scales = &call->in[HC_GEMM_Q_A_SCALES]},
        .b = {.codes = &call->in[HC_GEMM_Q_B], .scales = &call->in[HC_GEMM_Q_B_SCALES]}};
    assert(u->piece == u->k && u->zero == HC_ZERO_FIXED && u->output_fraction == 23);
    w.a.blocks = hc_gemm_q_a_scales(call);
    w.b.blocks = hc_gemm_q_b_scales(call);
    read_side(&w.a, u, u->a);
    read_side(&w.b, u, u->b);
    return w;
}

uint8_t hc_sim_code(const struct hc_sim_side *side, int64_t row, int64_t k, int64_t i)
{
    return ((const uint8_t *)side->codes->data)[row * k + i];
}

uint8_t hc_sim_scale(const struct hc_sim_side *side, int64_t row, int64_t i)
{
    const struct hc_block_scales *blocks = &side->blocks;
    int64_t at = row / blocks->rows * blocks->across + i / blocks->columns;
    return ((const uint8_t *)side->scales->data)[at];
}

size_t hc_sim_line_bytes(const struct hc_sim_scaled *w)
{
    return ((size_t)w->padded * 3 * sizeof(int16_t) + 63) / 64 * 64;
}

struct hc_sim_line hc_sim_line_at(const struct hc_sim_scaled *w, void *memory)
{
    int16_t *at = memory;
    return (struct hc_sim_line){at, at + w->padded, at + 2 * w->padded, false};
}

void hc_sim_line_read(const struct hc_sim_scaled *w, const struct hc_sim_side *side, int64_t row,
                      struct hc_sim_line *to)
{
    bool grouped = w->u->rule == HC_UNIT_GROUPED;
    to->special = false;
    for (int64_t i = 0; i < w->padded; i++) {
        to->number[i] = 0;
        to->exponent[i] = grouped ? 0 : HC_SIM_SCALED_ZERO;
        to->scale[i] = 0;
    }
    for (int64_t i = 0; i < w->k; i++) {
        const struct hc_operand_value *v = &side->value[hc_sim_code(side, row, w->k, i)];
        const struct hc_operand_value *s = &side->factor[hc_sim_scale(side, row, i)];
        int number = (int)v->significand << (grouped ? v->exponent : 0);
        to->special |= v->class_ > HC_CLASS_FINITE || s->class_ > HC_CLASS_FINITE;
        to->number[i] = (int16_t)(v->negative ? -number : number);
        if (grouped) {
            to->exponent[i / w->u->group] = (int16_t)s->exponent;
            to->scale[i / w->u->group] = (int16_t)s->significand;
        } else if (number != 0)
            to->exponent[i] = (int16_t)(v->exponent + s->exponent);
    }
}
