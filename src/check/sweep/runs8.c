#include "check/sweep/runs8.h"

#include <assert.h>
#include <math.h>

#include "num/bits.h"

static uint32_t pattern(double value)
{
    float narrow = (float)value;
    assert((double)narrow == value);
    return hc_fp32_bits(narrow);
}

static void add_run(struct hc_runs8 *runs, uint32_t first, uint8_t code, bool nan)
{
    if (runs->count > 0 && runs->code[runs->count - 1] == code && !nan)
        return;
    runs->first[runs->count] = first;
    runs->code[runs->count] = code;
    runs->nan[runs->count++] = nan;
}

/* The first pattern that is nearer to `above`, whose code is c, than to the value below it. The
   even code wins a tie; e8m0's numbers have one bit, and the larger one wins. */
static uint32_t nearer(enum hc_format to, double below, double above, unsigned c)
{
    return pattern((below + above) / 2) + (to == HC_E8M0 ? 0 : c & 1);
}

void hc_runs8_build(struct hc_runs8 *runs, enum hc_format to, bool saturate, int negative)
{
    const struct hc_format_info *f = &hc_formats[to];
    double most = hc_format_max(to);
    unsigned largest = (unsigned)hc_encode(to, most, 0, HC_NEAREST);
    uint8_t sign = (uint8_t)(negative && f->sign ? 1u << (f->bits - 1) : 0);
    double step = most - hc_decode(to, largest - 1);
    runs->count = 0;
    add_run(runs, 0, f->special == HC_SPECIAL_FNUZ ? 0 : sign, false);
    for (unsigned c = 1; c <= largest; c++)
        add_run(runs, nearer(to, hc_decode(to, c - 1), hc_decode(to, c), c), (uint8_t)(sign | c),
                false);
    /* The number that would follow the largest one stands for what is too large. e8m0's is twice
       as large. */
    double next = to == HC_E8M0 ? 2 * most : most + step;
    uint32_t beyond = nearer(to, most, next, largest + 1);
    if (!saturate && f->special == HC_SPECIAL_IEEE)
        add_run(runs, beyond, (uint8_t)(sign | hc_encode(to, (double)INFINITY, 0, HC_NEAREST)),
                false);
    if (!saturate && f->special != HC_SPECIAL_IEEE && f->special != HC_SPECIAL_NONE)
        add_run(runs, beyond, (uint8_t)hc_encode(to, (double)NAN, 0, HC_NEAREST), true);
    add_run(runs, 0x7f800001u, (uint8_t)hc_encode(to, (double)NAN, 0, HC_NEAREST), true);
    assert(runs->count <= HC_RUNS8);
    runs->first[runs->count] = 0x80000000u;
}

int hc_runs8_at(const struct hc_runs8 *runs, uint32_t magnitude)
{
    int low = 0;
    int high = runs->count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (runs->first[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Where the format has no NaN, the one code alone is right. */
bool hc_runs8_right(const struct hc_runs8 *runs, int run, enum hc_format to, uint8_t code)
{
    if (code >> hc_formats[to].bits != 0)
        return false;
    bool any = runs->nan[run] && hc_formats[to].special != HC_SPECIAL_NONE;
    return any ? isnan(hc_decode(to, code)) : code == runs->code[run];
}
