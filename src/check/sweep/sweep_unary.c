/* Calls whose every element is known beforehand, and the square roots. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "check/sweep/pairs.h"
#include "check/sweep/sweep.h"
#include "num/rng.h"
#include "reference.h"

static bool same(enum hc_format format, uint64_t want, uint64_t got)
{
    return want == got || (isnan(hc_decode(format, want)) && isnan(hc_decode(format, got)));
}

void hc_claim_elements(struct hc_check *check, const struct hc_call *call, const uint32_t *want)
{
    if (hc_do(check, call) != HC_OK)
        return;
    const struct hc_tensor *out = &call->out[0];
    int64_t n = hc_tensor_count(out);
    int64_t wrong = 0;
    char first[128] = "";
    for (int64_t i = 0; i < n; i++) {
        uint64_t got = hc_tensor_bits(out, i);
        if (same(out->format, want[i], got) || wrong++)
            continue;
        (void)snprintf(first, sizeof first,
                       "%.17g: want %.9g (0x%" PRIx32 "), got %.9g (0x%" PRIx64 ")",
                       hc_tensor_get(&call->in[0], i), hc_decode(out->format, want[i]), want[i],
                       hc_decode(out->format, got), got);
    }
    hc_claim_sweep(check, n, wrong, wrong ? first : NULL);
}

/* The expected side against MPFR: every root at level exhaustive, 1024 seeded ones below. */
static bool proved(struct hc_check *check, const struct hc_call *call, const uint32_t *want)
{
    enum hc_format format = call->in[0].format;
    bool all = hc_check_level(check) == HC_EXHAUSTIVE;
    for (uint64_t i = 0; i < (all ? 65536 : 1024); i++) {
        uint64_t x = all ? i : hc_random(hc_check_seed(check), 0, i) & 65535;
        struct hc_exact real = hc_reference_value(call, 0, (int64_t)x);
        if (!same(format, want[x], hc_encode(format, real.hi, real.lo, HC_NEAREST)))
            return hc_check_ok(
                check, hc_fail(HC_INVALID, "the expected side is wrong: sqrt 0x%04x", (unsigned)x));
    }
    return true;
}

void hc_sweep_sqrt(struct hc_check *check, enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_sqrt};
    call.in[0] = hc_check_vector(check, format, 65536);
    call.out[0] = hc_check_vector(check, format, 65536);
    uint32_t *want = hc_check_memory(check, 65536 * sizeof *want);
    for (uint32_t x = 0; x < 65536; x++) {
        hc_tensor_set_bits(&call.in[0], x, x);
        want[x] = hc_exact_sqrt_code(format, (uint16_t)x);
    }
    if (proved(check, &call, want))
        hc_claim_elements(check, &call, want);
}
