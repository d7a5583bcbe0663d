/* The sweep over the conversions from i32 into fp16. */
#include <inttypes.h>

#include "check/sweep/threads.h"
#include "check/sweep/sweep.h"
#include "check/sweep/sweep_judged.h"
#include "num/clones.h"
#include "num/rng.h"
#include "op/digest.h"
#include "reference.h"

enum {
    NEAR = 70000,
    SEEDED = 65536,
    TABLE = 65536, /* sizes from 0 to this; from it on nothing changes */
    SAMPLES = 1024,
    BLOCK = 4096,
    UNIT = 16, /* blocks */
};

#define UNITS (((int64_t)1 << 32) / (BLOCK * UNIT))

struct integers {
    enum hc_direction direction;
    uint64_t digest;             /* of the sweep (hc_sweep_digest) */
    uint16_t want[2][TABLE + 1]; /* of a size, and of its negative */
};

/* An integer's fp16 code. 11 bits are kept, at the exponent that they then have: 1024 of them at
   exponent code 25 are the integer 1024. */
static uint16_t code_of(int64_t value, enum hc_direction direction)
{
    bool negative = value < 0;
    uint64_t n = (uint64_t)(negative ? -value : value);
    bool outward = direction == (negative ? HC_DOWNWARD : HC_UPWARD);
    int top = 0;
    while (n >> top > 1)
        top++;
    if (n == 0)
        return 0;
    int cut = top - 10;
    uint64_t kept = cut > 0 ? n >> cut : n << -cut;
    uint64_t lost = cut > 0 ? n - (kept << cut) : 0;
    uint64_t half = cut > 0 ? (uint64_t)1 << cut >> 1 : 1;
    bool up = outward && lost;
    if (direction == HC_NEAREST)
        up = lost > half || (lost == half && (kept & 1));
    uint32_t code = (uint32_t)(24 + cut) * 1024 + (uint32_t)kept + up;
    uint32_t most = outward || direction == HC_NEAREST ? 0x7c00 : 0x7bff;
    return (uint16_t)((uint32_t)negative << 15 | (code < most ? code : most));
}

static uint16_t want_of(const struct integers *s, int64_t value)
{
    int64_t size = value < 0 ? -value : value;
    return s->want[value < 0][size < TABLE ? size : TABLE];
}

/* The table against MPFR. */
static enum hc_status proved(const struct hc_check *check, const struct integers *s)
{
    if (hc_check_bits_only(check))
        return HC_OK;
    bool all = hc_check_level(check) == HC_EXHAUSTIVE;
    for (uint64_t i = 0; i < (all ? 2 * TABLE + 1 : SAMPLES); i++) {
        uint64_t place = all ? i : hc_random(hc_check_seed(check), 1, i) % (2 * TABLE + 1);
        int32_t x = (int32_t)place - TABLE;
        struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = s->direction};
        call.in[HC_X] = hc_tensor1(HC_I32, 1, &x);
        call.out[HC_OUT] = hc_tensor1(HC_FP16, 1, NULL);
        struct hc_exact real = hc_reference_value(&call, 0, 0);
        uint64_t want = hc_encode(HC_FP16, real.hi, real.lo, s->direction);
        if (want != want_of(s, x))
            return hc_fail(HC_INVALID,
                           "the expected side is wrong: %d: MPFR 0x%04x, expected 0x%04x", x,
                           (unsigned)want, want_of(s, x));
    }
    return HC_OK;
}

/* The integers at which something changes, and seeded ones. */
static enum hc_status turns(struct hc_check *check, const struct integers *s, struct hc_miss *miss)
{
    int64_t n = 2 * NEAR + 1 + 2 + SEEDED;
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = s->direction};
    call.in[HC_X] = hc_check_vector(check, HC_I32, n);
    call.out[HC_OUT] = hc_check_vector(check, HC_FP16, n);
    int32_t *x = call.in[HC_X].data;
    const uint16_t *got = call.out[HC_OUT].data;
    int64_t i = 0;
    for (int32_t value = -NEAR; value <= NEAR; value++)
        x[i++] = value;
    x[i++] = INT32_MAX;
    x[i++] = INT32_MIN;
    for (uint64_t k = 0; k < SEEDED; k++)
        x[i++] = (int32_t)(uint32_t)hc_random(hc_check_seed(check), 0, k) >> (k % 32);
    uint64_t digest = hc_digest_inputs(&call);
    enum hc_status status = hc_sweep_call(check, hc_check_queue(check), &call);
    if (status == HC_OK)
        miss->digest += hc_digest_outputs(digest, &call);
    for (i = 0; i < n && status == HC_OK; i++)
        if (got[i] != want_of(s, x[i]))
            hc_miss_note(miss, (uint32_t)x[i], want_of(s, x[i]), got[i]);
    miss->checked += n;
    return status;
}

struct buffers {
    int32_t in[BLOCK];
    uint16_t out[BLOCK];
};

/* The bits in which any result of a block differs from `want`, which all of them should be. */
HC_CLONES static uint16_t strays(const uint16_t *got, uint16_t want)
{
    uint16_t bits = 0;
#pragma omp simd reduction(| : bits)
    for (uint32_t i = 0; i < BLOCK; i++)
        bits |= (uint16_t)(got[i] ^ want);
    return bits;
}

/* A block lies wholly on one side of 0, of TABLE and of -TABLE, but for these themselves. */
static void compare_block(const struct integers *s, const struct buffers *buffers,
                          struct hc_miss *miss)
{
    int64_t low = *buffers->in;
    int64_t high = buffers->in[BLOCK - 1];
    if ((low >= TABLE || high <= -TABLE) && strays(buffers->out, want_of(s, low)) == 0)
        return;
    for (int i = 0; i < BLOCK; i++)
        if (buffers->out[i] != want_of(s, buffers->in[i]))
            hc_miss_note(miss, (uint32_t)buffers->in[i], want_of(s, buffers->in[i]),
                         buffers->out[i]);
}

static enum hc_status unit(struct hc_check *check, struct hc_queue *queue, int64_t at, void *memory,
                           struct hc_miss *miss, const void *context)
{
    const struct integers *s = context;
    struct buffers *buffers = memory;
    uint32_t start = (uint32_t)at * BLOCK * UNIT;
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = s->direction};
    call.in[HC_X] = hc_tensor1(HC_I32, BLOCK, buffers->in);
    call.out[HC_OUT] = hc_tensor1(HC_FP16, BLOCK, buffers->out);
    for (int b = 0; b < UNIT; b++, start += BLOCK) {
        for (uint32_t i = 0; i < BLOCK; i++)
            buffers->in[i] = (int32_t)(start + i);
        enum hc_status status = hc_sweep_call(check, queue, &call);
        if (status != HC_OK)
            return status;
        int64_t wrong = miss->wrong;
        compare_block(s, buffers, miss);
        hc_miss_digest(miss, s->digest, start, miss->wrong - wrong, &call);
    }
    miss->checked += (int64_t)BLOCK * UNIT;
    return HC_OK;
}

/* All 2^32; on a backend that judges results, where they lie. */
static bool all(struct hc_check *check, const struct integers *s, struct hc_miss *miss)
{
    struct hc_parts parts = hc_parts_of_all(HC_OP_cast, HC_I32, HC_FP16, s->direction);
    if (hc_can_judge(hc_check_backend(check)))
        return hc_parts_run(check, &parts, miss);
    return hc_sweep_run(check, UNITS, sizeof(struct buffers), unit, s, miss);
}

void hc_sweep_from_i32(struct hc_check *check, enum hc_direction direction)
{
    struct integers *s = hc_check_memory(check, sizeof *s);
    s->direction = direction;
    for (int64_t size = 0; size <= TABLE; size++) {
        s->want[0][size] = code_of(size, direction);
        s->want[1][size] = code_of(-size, direction);
    }
    hc_say(check, "fp16 has 11 bits: 2049 is half way from 2048 to 2050; %s it is %g",
           hc_direction_names[direction], hc_decode(HC_FP16, want_of(s, 2049)));
    struct hc_miss miss = {0};
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = direction};
    call.in[HC_X] = hc_tensor1(HC_I32, BLOCK, NULL);
    call.out[HC_OUT] = hc_tensor1(HC_FP16, BLOCK, NULL);
    s->digest = hc_sweep_digest(check, &call);
    if (!hc_check_ok(check, proved(check, s)) || !hc_check_ok(check, turns(check, s, &miss)) ||
        (hc_check_level(check) == HC_EXHAUSTIVE && !all(check, s, &miss)))
        return;
    hc_miss_claim(check, &miss,
                  "%" PRId32 ": want %.9g (0x%04" PRIx64 "), got %.9g (0x%04" PRIx64 ")",
                  (int32_t)(uint32_t)miss.where, hc_decode(HC_FP16, miss.want), miss.want,
                  hc_decode(HC_FP16, miss.got), miss.got);
}
