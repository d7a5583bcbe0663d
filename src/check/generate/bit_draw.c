#include "check/generate/bit_draw.h"

#include <math.h>

#include "check/family/family.h"
#include "check/generate/boundary.h"
#include "check/generate/distribution.h"
#include "num/rng.h"
#include "op/descriptor.h"

/* Lengths that are no multiple of any power of two that a block may have. */
enum { REST = 15, LONG = 16384 + REST, MIDDLING = 4099, SHORT = 1031 };

enum { ALL_CODES, PAIRS, ANY_BITS, OF_OPS, SCALARS = OF_OPS + HC_DISTRIBUTION_COUNT };

static bool is_16(enum hc_format format)
{
    return format == HC_FP16 || format == HC_BF16;
}

/* Whether the slot holds data: as many elements as the first input, or that itself. */
static bool is_data(const struct hc_call *call, int slot)
{
    return slot == 0 || hc_slot(call->op, slot)->size == HC_SIZE_FIRST;
}

struct hc_bit_draw hc_bit_draw(const struct hc_call *call, int number)
{
    const struct hc_bit_scalar *s = hc_family(call->op)->bit_scalar;
    bool first = is_16(call->in[HC_FIRST].format);
    bool second =
        hc_ops[call->op].inputs > 1 && is_data(call, HC_Y) && is_16(call->in[HC_Y].format);
    if (number == ALL_CODES && first)
        return (struct hc_bit_draw){"all codes", 65536 + REST, false};
    if (number == PAIRS && first && second)
        return (struct hc_bit_draw){"pairs of boundaries",
                                    HC_BOUNDARY_CODES * HC_BOUNDARY_CODES + REST, false};
    if (number == ANY_BITS)
        return (struct hc_bit_draw){"any bits", first ? MIDDLING : LONG, false};
    if (number >= OF_OPS && number < SCALARS) {
        enum hc_distribution distribution = (enum hc_distribution)(number - OF_OPS);
        if (hc_distribution_applies(call, distribution))
            return (struct hc_bit_draw){hc_distribution_names[distribution], SHORT,
                                        distribution == HC_DRAW_FOUND};
    }
    if (number >= SCALARS && s && number - SCALARS < s->count)
        return (struct hc_bit_draw){"any bits under many a scalar", SHORT, false};
    return (struct hc_bit_draw){NULL, 0, false};
}

static uint64_t random_bits(const struct hc_tensor *t, uint64_t seed, int slot, int64_t i)
{
    return hc_random(seed, 40 + (uint64_t)slot, (uint64_t)i) >>
           (64 - 8 * hc_formats[t->format].bytes);
}

/* Fills every slot of data: all codes or boundaries where the distribution is these, any bits
   elsewhere. */
static void draw_data(const struct hc_call *call, int number, uint64_t seed)
{
    uint16_t codes[HC_BOUNDARY_CODES];
    if (number == PAIRS)
        hc_boundary_codes(call->in[HC_FIRST].format, codes);
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++) {
        const struct hc_tensor *t = &call->in[slot];
        if (!t->data || !is_data(call, slot))
            continue;
        if (number == PAIRS && slot == 1)
            hc_boundary_codes(t->format, codes);
        for (int64_t i = 0; i < hc_tensor_count(t); i++) {
            uint64_t bits;
            if (number == ALL_CODES && slot == 0)
                bits = (uint64_t)i % 65536;
            else if (number == PAIRS && slot < 2)
                bits = codes[(slot ? i : i / HC_BOUNDARY_CODES) % HC_BOUNDARY_CODES];
            else
                bits = random_bits(t, seed, slot, i);
            hc_tensor_set_bits(t, i, bits);
        }
    }
}

void hc_bit_draw_inputs(const struct hc_call *call, int number, uint64_t seed)
{
    const struct hc_bit_scalar *s = hc_family(call->op)->bit_scalar;
    bool of_ops = number >= OF_OPS && number < SCALARS;
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++) {
        if (of_ops)
            hc_draw_input(call, slot, (enum hc_distribution)(number - OF_OPS), seed);
        else if (!is_data(call, slot))
            hc_draw_input(call, slot, HC_DRAW_NORMAL, seed);
    }
    if (!of_ops)
        draw_data(call, number, seed + (uint64_t)number);
    if (number >= SCALARS && s)
        hc_tensor_set(&call->in[s->slot], s->element, s->values[number - SCALARS]);
}
