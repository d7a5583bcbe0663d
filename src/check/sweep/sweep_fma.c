/* The sweep over fused multiply-adds of 16-bit values. */
#include <inttypes.h>

#include "check/generate/boundary.h"
#include "check/sweep/threads.h"
#include "check/sweep/pairs.h"
#include "check/sweep/sweep.h"
#include "num/rng.h"
#include "reference.h"

enum {
    BLOCK = 4096,
    TRIPLES = HC_BOUNDARY_CODES * HC_BOUNDARY_CODES * HC_BOUNDARY_CODES,
    BOUNDARY_BLOCKS = (TRIPLES + BLOCK - 1) / BLOCK,
};

struct fma_sweep {
    enum hc_format format;
    uint64_t seed;
    uint64_t digest; /* of the sweep (hc_sweep_digest) */
    uint16_t codes[HC_BOUNDARY_CODES];
};

struct buffers {
    uint16_t in[3][BLOCK];
    uint16_t got[BLOCK];
};

/* Block by block: the triples of boundary values (the last ones again in the last block), then
   random ones. */
static void fill(const struct fma_sweep *sweep, int64_t unit, struct buffers *buffers)
{
    for (int64_t i = 0; i < BLOCK; i++) {
        int64_t place = unit * BLOCK + i;
        uint64_t random = 0;
        if (unit >= BOUNDARY_BLOCKS)
            random = hc_random(sweep->seed, 0, (uint64_t)place);
        else if (place >= TRIPLES)
            place -= BLOCK;
        for (int k = 0; k < 3; k++) {
            uint64_t bits = random >> 16 * k;
            if (unit < BOUNDARY_BLOCKS)
                bits = sweep->codes[place % HC_BOUNDARY_CODES];
            buffers->in[k][i] = (uint16_t)bits;
            place /= HC_BOUNDARY_CODES;
        }
    }
}

/* The first triple of each block is computed in MPFR as well. */
static enum hc_status proved(const struct hc_call *call, uint16_t expected)
{
    enum hc_format format = call->out[HC_OUT].format;
    struct hc_exact real = hc_reference_value(call, 0, 0);
    uint16_t want = (uint16_t)hc_encode(format, real.hi, real.lo, HC_NEAREST);
    if (hc_same_bits(format, want, expected))
        return HC_OK;
    return hc_fail(HC_INVALID, "the expected side is wrong: fma: MPFR 0x%04x, expected 0x%04x",
                   want, expected);
}

static enum hc_status block(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                            void *memory, struct hc_miss *miss, const void *context)
{
    const struct fma_sweep *sweep = context;
    struct buffers *buffers = memory;
    struct hc_call call = {.op = HC_OP_fma};
    for (int k = 0; k < 3; k++)
        call.in[k] = hc_tensor1(sweep->format, BLOCK, buffers->in[k]);
    call.out[HC_OUT] = hc_tensor1(sweep->format, BLOCK, buffers->got);
    fill(sweep, unit, buffers);
    enum hc_status status = hc_sweep_call(check, queue, &call);
    int64_t wrong = miss->wrong;
    for (int i = 0; i < BLOCK && status == HC_OK; i++) {
        uint16_t want = hc_exact_fma_code(sweep->format, buffers->in[HC_X][i], buffers->in[HC_Y][i],
                                          buffers->in[HC_Z][i]);
        if (i == 0 && !hc_check_bits_only(check))
            status = proved(&call, want);
        if (!hc_same_bits(sweep->format, want, buffers->got[i]))
            hc_miss_note(miss,
                         (uint64_t)buffers->in[HC_X][i] << 32 |
                             (uint64_t)buffers->in[HC_Y][i] << 16 | buffers->in[HC_Z][i],
                         want, buffers->got[i]);
    }
    hc_miss_digest(miss, sweep->digest, (uint64_t)unit, miss->wrong - wrong, &call);
    miss->checked += BLOCK;
    return status;
}

void hc_sweep_fma(struct hc_check *check, enum hc_format format)
{
    static const int64_t seeded[] = {0, 1 << 6, 1 << 16};
    struct fma_sweep sweep = {.format = format, .seed = hc_check_seed(check)};
    struct hc_miss miss = {0};
    struct hc_call call = {.op = HC_OP_fma};
    for (int k = 0; k < 3; k++)
        call.in[k] = hc_tensor1(format, BLOCK, NULL);
    call.out[HC_OUT] = hc_tensor1(format, BLOCK, NULL);
    sweep.digest = hc_sweep_digest(check, &call) ^ sweep.seed;
    hc_boundary_codes(format, sweep.codes);
    if (!hc_sweep_run(check, BOUNDARY_BLOCKS + seeded[hc_check_level(check)],
                      sizeof(struct buffers), block, &sweep, &miss))
        return;
    hc_miss_claim(check, &miss,
                  "0x%04" PRIx64 " * 0x%04" PRIx64 " + 0x%04" PRIx64 ": want 0x%04" PRIx64
                  ", got 0x%04" PRIx64,
                  miss.where >> 32, miss.where >> 16 & 65535, miss.where & 65535, miss.want,
                  miss.got);
}
