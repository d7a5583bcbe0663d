/* Calls whose every element is known beforehand, and the square roots. */
#include <inttypes.h>

#include "check/sweep/pairs.h"
#include "check/sweep/sweep.h"
#include "num/rng.h"
#include "reference.h"

void hc_claim_elements(struct hc_check *check, const struct hc_call *call, const uint32_t *want)
{
    if (hc_do(check, call) != HC_OK || hc_check_bits_only(check))
        return;
    const struct hc_tensor *out = &call->out[HC_OUT];
    struct hc_comparisons all = {.what = "results as the definition gives them",
                                 .checked = hc_tensor_count(out)};
    for (int64_t i = 0; i < all.checked; i++) {
        uint64_t got = hc_tensor_bits(out, i);
        if (!hc_same_bits(out->format, want[i], got))
            hc_comparisons_wrong(&all, "%.17g: want %.9g (0x%" PRIx32 "), got %.9g (0x%" PRIx64 ")",
                                 hc_tensor_get(&call->in[HC_X], i), hc_decode(out->format, want[i]),
                                 want[i], hc_decode(out->format, got), got);
    }
    hc_claim_comparisons(check, &all);
}

/* The expected side against MPFR: every root at level exhaustive, 1024 seeded ones below. */
static bool proved(struct hc_check *check, const struct hc_call *call, const uint32_t *want)
{
    enum hc_format format = call->in[HC_X].format;
    bool all = hc_check_level(check) == HC_EXHAUSTIVE;
    for (uint64_t i = 0; i < (all ? 65536 : 1024); i++) {
        uint64_t x = all ? i : hc_random(hc_check_seed(check), 0, i) & 65535;
        struct hc_exact real = hc_reference_value(call, 0, (int64_t)x);
        if (!hc_same_bits(format, want[x], hc_encode(format, real.hi, real.lo, HC_NEAREST)))
            return hc_check_ok(
                check, hc_fail(HC_INVALID, "the expected side is wrong: sqrt 0x%04x", (unsigned)x));
    }
    return true;
}

void hc_sweep_sqrt(struct hc_check *check, enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_sqrt};
    call.in[HC_X] = hc_check_vector(check, format, 65536);
    call.out[HC_OUT] = hc_check_vector(check, format, 65536);
    uint32_t *want = hc_check_memory(check, 65536 * sizeof *want);
    for (uint32_t x = 0; x < 65536; x++) {
        hc_tensor_set_bits(&call.in[HC_X], x, x);
        want[x] = hc_exact_sqrt_code(format, (uint16_t)x);
    }
    if (hc_check_bits_only(check) || proved(check, &call, want))
        hc_claim_elements(check, &call, want);
}
