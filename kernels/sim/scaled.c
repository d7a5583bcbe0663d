/* gemm_q on units that take the scales of blocks themselves: NVIDIA's for MX (each product has its
   two scales before it is aligned) and those for e2m1 (groups of 16 products are summed exactly and
   then have theirs). The text of the rules is src/unit/unit.h's. Integers of 32 and 64 bits hold
   what is aligned, and fp64 their sum, which is then cut to fp32. What is infinite or NaN leaves
   for hc_unit_dot, with its whole element. */
#include <assert.h>
#include <math.h>
#include <omp.h>

#include "kernels/sim/sim.h"
#include "num/bits.h"
#include "num/clones.h"
#include "kernels/element/quant_gemm.h"
#include "unit/unit.h"

enum { HC_SIM_CODES = 256 };

/* The exponent of a zero: a product that has one is below every other. */
enum { HC_SIM_SCALED_ZERO = -8192 };

/* A row of a or of b. A unit that aligns products has significands, and exponents with the scales'.
   A unit with groups has twice the numbers themselves, and each group's scale. */
struct hc_sim_line {
    int16_t *number;
    int16_t *exponent;
    int16_t *scale;
    bool special; /* something is infinite or NaN */
};

/* One side of the product, and what its codes and scales are. */
struct hc_sim_side {
    const struct hc_tensor *codes;
    const struct hc_tensor *scales;
    struct hc_block_scales blocks;
    struct hc_operand_value value[HC_SIM_CODES];
    struct hc_operand_value factor[HC_SIM_CODES];
};

struct hc_sim_scaled {
    const struct hc_unit *u;
    int64_t k, padded; /* terms, and terms of whole instructions */
    struct hc_sim_side a, b;
};

static void read_side(struct hc_sim_side *side, const struct hc_unit *u, enum hc_operand operand)
{
    uint32_t mask = (1u << hc_operands[operand].bits) - 1;
    for (uint32_t code = 0; code < HC_SIM_CODES; code++) {
        side->value[code] = hc_operand_decode(operand, code & mask);
        side->factor[code] = hc_operand_decode(u->scale, code);
    }
}

static struct hc_sim_scaled hc_sim_scaled_of(const struct hc_unit *u, const struct hc_call *call)
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

static uint8_t hc_sim_code(const struct hc_sim_side *side, int64_t row, int64_t k, int64_t i)
{
    return ((const uint8_t *)side->codes->data)[row * k + i];
}

static uint8_t hc_sim_scale(const struct hc_sim_side *side, int64_t row, int64_t i)
{
    const struct hc_block_scales *blocks = &side->blocks;
    int64_t at = row / blocks->rows * blocks->across + i / blocks->columns;
    return ((const uint8_t *)side->scales->data)[at];
}

/* A line needs so many bytes. It is filled up with zeros to whole instructions. */
static size_t hc_sim_line_bytes(const struct hc_sim_scaled *w)
{
    return ((size_t)w->padded * 3 * sizeof(int16_t) + 63) / 64 * 64;
}

static struct hc_sim_line hc_sim_line_at(const struct hc_sim_scaled *w, void *memory)
{
    int16_t *at = memory;
    return (struct hc_sim_line){at, at + w->padded, at + 2 * w->padded, false};
}

static void hc_sim_line_read(const struct hc_sim_scaled *w, const struct hc_sim_side *side,
                             int64_t row, struct hc_sim_line *to)
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

enum { ROWS = 32, COLUMNS = 16, MOST = 64 };

/* C, and the exponent at which everything is cut so far. */
struct addend {
    int64_t significand; /* 23 bits behind the point */
    int exponent;
};

static struct addend addend_of(const struct hc_unit *u, uint32_t c)
{
    int field = (int)(c >> 23 & 0xff);
    int64_t m = (int64_t)(c & 0x7fffff) | (int64_t)(field > 0) << 23;
    int exponent = m == 0 ? u->zero_c_exponent : (field > 0 ? field : 1) - 127;
    return (struct addend){c >> 31 ? -m : m, exponent};
}

/* m 2^up / 2^down, cut toward zero. */
static int64_t aligned(int64_t m, int up, int down)
{
    int64_t magnitude = (m < 0 ? -m : m) << up;
    magnitude = down < 63 ? magnitude >> down : 0;
    return m < 0 ? -magnitude : magnitude;
}

/* total 2^e, cut to fp32; every zero is +0. */
static uint32_t cut(int64_t total, int e)
{
    double sum = ldexp((double)total, e);
    float rounded = (float)sum;
    uint32_t bits = hc_fp32_bits(rounded);
    if (fabs((double)rounded) > fabs(sum) && fabs(sum) < 0x1p128)
        bits--;
    return bits << 1 ? bits : 0;
}

/* The sum of products cut at `top`, which stands in *top, in units of 2^(top - fraction). */
static inline int64_t sum_fused(const struct hc_unit *u, const int16_t *a, const int16_t *b,
                                const int16_t *ea, const int16_t *eb, bool zero, int *top)
{
    int e[MOST];
    int least = *top;
    int most = *top;
    int up = u->fraction - hc_operands[u->a].fraction - hc_operands[u->b].fraction;
    int64_t sum = 0;
    for (int i = 0; i < u->k; i++) {
        e[i] = ea[i] + eb[i];
        most = e[i] > most ? e[i] : most;
        least = e[i] < least ? e[i] : least;
    }
    if ((zero || least < HC_SIM_SCALED_ZERO / 2) && most < u->zero_exponent)
        most = u->zero_exponent;
    for (int i = 0; i < u->k; i++) {
        int product = a[i] * b[i];
        int shift = most - e[i] < 31 ? most - e[i] : 31;
        int magnitude = (product < 0 ? -product : product) << up >> shift;
        sum += product < 0 ? -magnitude : magnitude;
    }
    *top = most;
    return sum;
}

/* Twice a number of e2m1 is at most 12, so that a group's sum and the product with two scales of
   4 bits are below 2^20; up to 35 bits behind the point they fill 47. */
static inline int64_t sum_grouped(const struct hc_unit *u, const int16_t *a, const int16_t *b,
                                  const struct hc_sim_line *x, const struct hc_sim_line *y,
                                  int64_t first, int *top)
{
    enum { GROUPS = 4, TWICE = 2 };
    int64_t term[GROUPS];
    int e[GROUPS];
    int n = u->k / u->group;
    int up = u->fraction - TWICE - 2 * hc_operands[u->scale].fraction;
    int64_t sum = 0;
    assert(n <= GROUPS);
    for (int g = 0; g < n; g++) {
        int products = 0;
        int any = 0;
        for (int i = g * u->group; i < (g + 1) * u->group; i++) {
            products += a[i] * b[i];
            any |= a[i] * b[i];
        }
        int scale = x->scale[first + g] * y->scale[first + g];
        term[g] = (int64_t)products * scale;
        e[g] = any && scale ? x->exponent[first + g] + y->exponent[first + g] : u->zero_exponent;
        *top = e[g] > *top ? e[g] : *top;
    }
    for (int g = 0; g < n; g++)
        sum += aligned(term[g], up, *top - e[g]);
    return sum;
}

/* Terms `from` to `end`; false where something is infinite or NaN. */
HC_CLONES static bool chain(const struct hc_sim_scaled *w, const struct hc_sim_line *x,
                            const struct hc_sim_line *y, int64_t from, int64_t end, uint32_t *sum)
{
    const struct hc_unit *u = w->u;
    uint32_t c = 0;
    for (int64_t i = from; i < end; i += u->k) {
        struct addend addend = addend_of(u, c);
        int top = addend.exponent;
        int64_t total = u->rule == HC_UNIT_GROUPED
                            ? sum_grouped(u, x->number + i, y->number + i, x, y, i / u->group, &top)
                            : sum_fused(u, x->number + i, y->number + i, x->exponent + i,
                                        y->exponent + i, addend.significand == 0, &top);
        total += aligned(addend.significand, u->fraction - 23, top - addend.exponent);
        c = cut(total, top - u->fraction);
        if ((c & 0x7f800000) == 0x7f800000)
            return false;
    }
    *sum = c;
    return true;
}

/* The same by the plain statement; `buffer` has room for 4 rows of codes. */
static uint32_t plain_chain(const struct hc_sim_scaled *w, int64_t row, int64_t column,
                            int64_t from, int64_t end, uint32_t *buffer)
{
    uint32_t *codes[] = {buffer, buffer + w->k, buffer + 2 * w->k, buffer + 3 * w->k};
    const struct hc_unit_scales scales = {codes[2], codes[3]};
    for (int64_t i = from; i < end; i++) {
        codes[0][i - from] = hc_sim_code(&w->a, row, w->k, i);
        codes[1][i - from] = hc_sim_code(&w->b, column, w->k, i);
        codes[2][(i - from) / w->u->block] = hc_sim_scale(&w->a, row, i);
        codes[3][(i - from) / w->u->block] = hc_sim_scale(&w->b, column, i);
    }
    return hc_unit_dot(w->u, codes[0], codes[1], &scales, end - from, 0);
}

/* What a thread has: COLUMNS lines of b, one of a, and room for 4 rows of codes. */
static size_t thread_bytes(const struct hc_sim_scaled *w)
{
    return (COLUMNS + 1) * hc_sim_line_bytes(w) +
           ((size_t)w->k * 4 * sizeof(uint32_t) + 63) / 64 * 64;
}

static struct hc_sim_line line_at(const struct hc_sim_scaled *w, char *memory, int i)
{
    return hc_sim_line_at(w, memory + (size_t)i * hc_sim_line_bytes(w));
}

static float element(const struct hc_sim_scaled *w, const struct hc_gemm_q *p,
                     const struct hc_sim_line *x, const struct hc_sim_line *y, int64_t row,
                     int64_t column, uint32_t *buffer)
{
    const struct hc_gemm_q whole = {.promote = p->promote};
    float acc = 0;
    for (int64_t from = 0, end; from < w->k; from = end) {
        uint32_t sum;
        end = hc_gemm_q_piece_end(&whole, from, w->k);
        if (x->special || y->special || !chain(w, x, y, from, end, &sum))
            sum = plain_chain(w, row, column, from, end, buffer);
        acc = hc_add_piece(acc, hc_fp32_value(sum), 1, 1, from == 0 && end == w->k);
    }
    return acc;
}

static void add_block(const struct hc_sim_scaled *w, const struct hc_call *call, int64_t first_row,
                      int64_t first_column, float *acc, char *memory)
{
    int64_t m = call->in[HC_GEMM_Q_A].shape[0];
    int64_t n = call->in[HC_GEMM_Q_B].shape[0];
    struct hc_sim_line columns[COLUMNS];
    struct hc_sim_line row = line_at(w, memory, COLUMNS);
    uint32_t *buffer = (uint32_t *)(void *)(memory + (COLUMNS + 1) * hc_sim_line_bytes(w));
    int count = n - first_column < COLUMNS ? (int)(n - first_column) : COLUMNS;
    for (int j = 0; j < count; j++) {
        columns[j] = line_at(w, memory, j);
        hc_sim_line_read(w, &w->b, first_column + j, &columns[j]);
    }
    for (int64_t i = first_row; i < m && i < first_row + ROWS; i++) {
        hc_sim_line_read(w, &w->a, i, &row);
        for (int j = 0; j < count; j++)
            acc[i * n + first_column + j] =
                element(w, &call->params.gemm_q, &row, &columns[j], i, first_column + j, buffer);
    }
}

size_t hc_sim_scaled_scratch(const struct hc_unit *u, const struct hc_call *call, int threads)
{
    struct hc_sim_scaled w = hc_sim_scaled_of(u, call);
    return (size_t)threads * thread_bytes(&w);
}

void hc_sim_scaled(const struct hc_unit *u, const struct hc_call *call, int threads, float *acc,
                   void *scratch)
{
    struct hc_sim_scaled w = hc_sim_scaled_of(u, call);
    int64_t tiles = (call->in[HC_GEMM_Q_B].shape[0] + COLUMNS - 1) / COLUMNS;
    int64_t jobs = (call->in[HC_GEMM_Q_A].shape[0] + ROWS - 1) / ROWS * tiles;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t job = 0; job < jobs; job++) {
        char *memory = (char *)scratch + (size_t)omp_get_thread_num() * thread_bytes(&w);
        add_block(&w, call, job / tiles * ROWS, job % tiles * COLUMNS, acc, memory);
    }
}
