/* hc_encode, which turns every real number that a reference returns (hi + lo) into bits: midpoints
   between neighbours, and numbers beside them by less than fp64 can hold, against integers. */
#include <math.h>

#include "case.h"

/* Codes c and c + 1 of a 16-bit format, and a real number halfway between them, beside that, or
   beside c. */
static void neighbours(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16};
    int64_t wrong = 0;
    int64_t checked = 0;
    for (int f = 0; f < 2; f++) {
        uint64_t infinite = formats[f] == HC_FP16 ? 0x7c00 : 0x7f80;
        for (uint64_t c = 0; c + 1 < infinite; c += c < 4096 ? 1 : 7)
            for (int sign = 0; sign < 2; sign++)
                for (int rest = -1; rest <= 1; rest++)
                    for (int d = 0; d < HC_DIRECTION_COUNT; d++) {
                        double low = hc_decode(formats[f], c);
                        double half = low + (hc_decode(formats[f], c + 1) - low) / 2;
                        double tiny = ldexp(half, -60) * rest;
                        bool up = d == HC_NEAREST ? rest > 0 || (rest == 0 && c % 2 == 1)
                                                  : d == (sign ? HC_DOWNWARD : HC_UPWARD);
                        uint64_t want = (c + up) | (uint64_t)sign << 15;
                        uint64_t got = hc_encode(formats[f], sign ? -half : half,
                                                 sign ? -tiny : tiny, (enum hc_direction)d);
                        wrong += want != got;
                        checked++;
                        /* Beside c itself. Below 0 there is nothing on this side. */
                        tiny = ldexp(low, -60) * rest;
                        bool below = rest < 0;
                        up = d == (sign ? HC_DOWNWARD : HC_UPWARD) && rest > 0;
                        bool down = d != HC_NEAREST && d != (sign ? HC_DOWNWARD : HC_UPWARD);
                        want = c == 0 ? 0 : c + up - (below && down);
                        got = hc_encode(formats[f], sign ? -low : low, sign ? -tiny : tiny,
                                        (enum hc_direction)d);
                        wrong += (want | (uint64_t)sign << 15) != got;
                        checked++;
                    }
    }
    hc_claim_sweep(check, "midpoints and what lies beside them", checked, wrong,
                   wrong ? "hc_encode of a midpoint and a rest" : NULL);
}

static const struct hc_case cases[] = {
    {.name = "rounding/midpoints-and-neighbours",
     .title = "a real number halfway between two codes of fp16 or bf16, or a millionth of fp64's "
              "last bit beside that, is rounded once in every direction",
     .source = "IEEE 754-2019, 4.3",
     .level = HC_QUICK,
     .once = true,
     .run = neighbours},
};

HC_CASES(rounding_rest, cases);
