/* The sweep over conversions from fp64: at every value of the target, at every tie, and right
   beside them, where the result is known without any rounding. */
#include <math.h>

#include "check/sweep/sweep.h"
#include "num/ulp.h"

enum { PLACES = 6 };

/* Between a value v of the target (code c) and the next one w (code c + 1), with m half way: what
   must be added to c at each place, rounding to nearest, toward zero and away from zero. At m
   itself the result to nearest is the even code. */
static const struct {
    int nearest;
    int zero;
    int away;
} offsets[PLACES] = {
    {0, 0, 0},  /* v */
    {0, 0, 1},  /* the fp64 after v */
    {0, 0, 1},  /* the one before m */
    {-1, 0, 1}, /* m */
    {1, 0, 1},  /* the one after m */
    {1, 0, 1},  /* the one before w */
};

static void places_between(double v, double w, double places[PLACES])
{
    double m = v + (w - v) / 2;
    places[0] = v;
    places[1] = nextafter(v, w);
    places[2] = nextafter(m, v);
    places[3] = m;
    places[4] = nextafter(m, w);
    places[5] = nextafter(w, v);
}

static uint32_t code_at(int place, uint32_t c, enum hc_direction direction, uint32_t negative)
{
    if (direction == HC_NEAREST)
        return c + (offsets[place].nearest < 0 ? c & 1 : (uint32_t)offsets[place].nearest);
    if (direction == (negative ? HC_DOWNWARD : HC_UPWARD))
        return c + (uint32_t)offsets[place].away;
    return c + (uint32_t)offsets[place].zero;
}

/* Beyond the largest value, the next one is where it would be without a limit on the exponent; its
   code is that of infinity. */
void hc_sweep_from_fp64(struct hc_check *check, enum hc_format to, enum hc_direction direction)
{
    uint32_t infinity = (uint32_t)hc_encode(to, (double)INFINITY, 0, HC_NEAREST);
    int64_t n = 2 * (int64_t)infinity * PLACES;
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = direction};
    call.in[HC_X] = hc_check_vector(check, HC_FP64, n);
    call.out[HC_OUT] = hc_check_vector(check, to, n);
    uint32_t *want = hc_check_memory(check, (size_t)n * sizeof *want);
    double *x = call.in[HC_X].data;
    int64_t i = 0;
    for (uint32_t negative = 0; negative < 2; negative++)
        for (uint32_t c = 0; c < infinity; c++) {
            double v = hc_decode(to, c);
            double places[PLACES];
            places_between(v, v + hc_ulp(to, v), places);
            for (int k = 0; k < PLACES; k++, i++) {
                x[i] = negative ? -places[k] : places[k];
                want[i] = negative << 15 | code_at(k, c, direction, negative);
            }
        }
    hc_claim_elements(check, &call, want);
}
