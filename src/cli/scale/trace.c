#include "cli/scale/trace.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/fixture/amaxes.h"
#include "num/bits.h"
#include "num/rng.h"
#include "reference_scale.h"

enum { RANDOM_AMAXES = 1000, RANDOM_STEPS = 300, BLOCK_STRIDE = 8, AMAX_STRIDE = 4 };

int hc_scale_block(const struct hc_scale_plan *plan)
{
    if (plan->has_history)
        return 0;
    static const int blocks[] = {[HC_SCALE_OF_FP32] = 0,
                                 [HC_SCALE_OF_E8M0] = HC_SCALE_BLOCK,
                                 [HC_SCALE_OF_LEVELS] = HC_SCALE_BLOCK / 2};
    return blocks[hc_scale_rules[plan->rule].kind];
}

/* A positive number of any exponent. */
static uint32_t any_amax(uint64_t random)
{
    uint32_t bits = (uint32_t)random & 0x7fffffffu;
    return bits < 0x7f800000u ? bits : bits - 0x20000000u;
}

/* The amaxes of a stateless rule, as numbers of the input's format. */
static int amaxes_of(const struct hc_scale_plan *plan, int stride, int neighbours, uint32_t *amax)
{
    struct hc_amaxes which = {.codes = plan->codes,
                              .stride = stride,
                              .offset = (int)(plan->seed % (uint64_t)stride),
                              .neighbours = neighbours};
    int n = hc_amaxes(&which, amax, HC_MOST_AMAXES - RANDOM_AMAXES);
    for (uint64_t i = 0; i < RANDOM_AMAXES; i++)
        amax[n++] = any_amax(hc_random(plan->seed, 1, i));
    for (int i = 0; i < n; i++)
        amax[i] = hc_fp32_bits((float)hc_round(plan->input, (double)hc_fp32_value(amax[i])));
    return n;
}

/* The amax of a step at random: an idle step, what is no ordinary number, any number, or one of a
   usual size. */
static uint32_t drawn_step(uint64_t random)
{
    static const uint32_t rare[] = {0x7f800000, 0x7fc00000, 0x00000001, 0x00800000,
                                    0x7f7fffff, 0x0007c3b6, 0x02081cea, 0x43e00000};
    switch (random % 8) {
    case 0:
        return 0;
    case 1:
        return rare[(random >> 8) % 8];
    case 2:
        return any_amax(random >> 16);
    default:
        return (uint32_t)(124 + (random >> 8) % 12) << 23 | ((uint32_t)(random >> 32) & 0x7fffffu);
    }
}

/* Windows of an amax beside which a quotient overflows: M / a, and M 2^-margin / a. Between the two
   it matters which of them a rule computes. */
static int edges_of(const struct hc_scale_plan *plan, uint32_t *amax, int n)
{
    double edge = hc_format_max(plan->codes) / hc_format_max(HC_FP32);
    double low = fmax(ldexp(edge, -plan->delayed.margin), 0x1p-149);
    const double edges[] = {edge * (1 - 0x1p-16), low * (1 + 0x1p-16)};
    for (int e = 0; e < 2; e++)
        for (int i = 0; i <= plan->window; i++)
            amax[n++] = hc_fp32_bits((float)edges[e]);
    return n;
}

static int steps_of(const struct hc_scale_plan *plan, uint32_t *amax)
{
    /* 3, 1.5, 7, 0.1, 448, nothing; and what is followed by a window of usual numbers. */
    static const uint32_t first[] = {0x40400000, 0x3fc00000, 0x40e00000, 0x3dcccccd, 0x43e00000, 0};
    static const uint32_t events[] = {0x7f800000, 0x7fc00000, 0x7f7fffff, 0x00000001, 0x02081cea};
    int n = 0;
    for (int i = 0; i < 6; i++)
        amax[n++] = first[i];
    for (int e = 0; e < 5; e++) {
        bool is_tiny = e >= 3; /* the largest of a window only where all are */
        for (int i = 0; i <= (is_tiny ? plan->window : 0); i++)
            amax[n++] = events[e];
        for (int i = 0; i <= plan->window; i++, n++)
            amax[n] = drawn_step(hc_random(plan->seed, 2, (uint64_t)n) | 7);
        amax[n++] = 0;
    }
    for (int i = 0; i < RANDOM_STEPS; i++, n++)
        amax[n] = drawn_step(hc_random(plan->seed, 2, (uint64_t)n));
    return edges_of(plan, amax, n);
}

/* The middle between two neighbouring codes' values, counted from the smallest. */
static double tie(enum hc_format codes, uint64_t which)
{
    uint64_t most = hc_encode_saturated(codes, (double)INFINITY, 0, HC_NEAREST);
    uint64_t code = which % most;
    return (hc_decode(codes, code) + hc_decode(codes, code + 1)) / 2;
}

/* An element of a block whose amax this is. One in two lies on a tie or next to one. */
static uint32_t element(const struct hc_scale_plan *plan, double encode, uint32_t amax,
                        uint64_t random)
{
    uint32_t sign = (uint32_t)(random >> 63) << 31;
    double largest = (double)hc_fp32_value(amax);
    double x = largest * hc_random_uniform(random, 3, 0);
    if (random % 2 == 0 && encode > 0 && encode < (double)INFINITY)
        x = tie(plan->codes, random >> 1) / encode;
    uint32_t bits = hc_fp32_bits((float)hc_round(plan->input, x < largest ? x : largest / 3));
    if (plan->input == HC_FP32 && random % 8 == 0 && bits > 0)
        bits += (uint32_t)(random >> 8 & 2) - 1;
    bool is_zero = bits == 0 || random % 64 == 1;
    return is_zero ? sign : sign | bits;
}

static bool is_nan(uint32_t amax)
{
    return amax > 0x7f800000u;
}

/* TransformerEngine's kernel drops a NaN from its maxima, and its reference keeps it: there is
   nothing that a block with one, or a tensor with one, would have to become. */
static bool has_nan(const struct hc_scale_plan *plan)
{
    return plan->rule != HC_SCALE_NVFP4_TE;
}

/* The amax of the tensor that a block of this amax lies in: no smaller; some are infinite, and some
   are NaN. */
static uint32_t tensor_of(const struct hc_scale_plan *plan, int line, uint32_t amax,
                          uint64_t random)
{
    static const double over[] = {1, 1.5, 3, 100, 5e4, 1e-30};
    double block = (double)hc_fp32_value(amax);
    if (amax >= 0x7f800000u || (line % 50 == 3 && has_nan(plan)))
        return amax == 0x7f800000u ? amax : 0x7fc00000u;
    if (line % 50 == 2)
        return 0x7f800000u;
    double tensor = fmax(block * over[random % 5], line % 50 == 1 ? over[5] : 0);
    tensor = fmin(hc_round(plan->input, tensor), hc_format_max(plan->input));
    return hc_fp32_bits((float)tensor);
}

static void fill_block(const struct hc_scale_plan *plan, int line, uint32_t amax, uint32_t *word)
{
    int n = hc_scale_block(plan);
    uint64_t random = hc_random(plan->seed, 4, (uint64_t)line);
    uint32_t tensor = amax;
    if (n == HC_SCALE_BLOCK / 2)
        *word++ = tensor = tensor_of(plan, line, amax, random);
    struct hc_stated_scale s =
        hc_stated_scale(plan->rule, plan->codes, plan->input, (double)hc_fp32_value(tensor),
                        (double)hc_fp32_value(amax));
    bool is_finite = amax < 0x7f800000u;
    for (int i = 0; i < n; i++)
        word[i] = element(plan, s.encode, is_finite ? amax : 0x3f800000u,
                          hc_random(plan->seed, 5 + (uint64_t)i, (uint64_t)line));
    word[random >> 8 & (uint64_t)(n - 1)] = amax | (uint32_t)(random >> 63 && amax) << 31;
}

static bool make_blocks(const struct hc_scale_plan *plan, struct hc_scale_trace *trace,
                        const uint32_t *amax, int count)
{
    int n = hc_scale_block(plan);
    bool has_levels = n == HC_SCALE_BLOCK / 2;
    trace->width = n + has_levels;
    trace->words = malloc((size_t)count * (size_t)trace->width * sizeof *trace->words);
    if (!trace->words)
        return false;
    for (int i = 0; i < count; i++)
        if (!is_nan(amax[i]) || has_nan(plan)) {
            fill_block(plan, i, amax[i], trace->words + (ptrdiff_t)trace->lines * trace->width);
            trace->lines++;
        }
    return true;
}

bool hc_scale_trace_make(const struct hc_scale_plan *plan, struct hc_scale_trace *trace)
{
    *trace = (struct hc_scale_trace){.width = 1};
    uint32_t *amax = malloc((HC_MOST_AMAXES + 8 * (HC_SCALE_WINDOW + 3)) * sizeof *amax);
    if (!amax)
        return false;
    if (hc_scale_block(plan) == 0) {
        trace->lines =
            plan->has_history ? steps_of(plan, amax) : amaxes_of(plan, AMAX_STRIDE, 7, amax);
        trace->words = amax;
        return true;
    }
    bool done = make_blocks(plan, trace, amax, amaxes_of(plan, BLOCK_STRIDE, 2, amax));
    free(amax);
    return done;
}

void hc_scale_trace_text(const struct hc_scale_trace *trace, int line, char text[HC_SCALE_TEXT])
{
    int at = snprintf(text, HC_SCALE_TEXT, "%d", line + 1);
    for (int i = 0; i < trace->width; i++)
        at += snprintf(text + at, (size_t)(HC_SCALE_TEXT - at), " %08x",
                       (unsigned)trace->words[(ptrdiff_t)line * trace->width + i]);
}
