/* The sweeps over pairs of 16-bit values. */
#include <inttypes.h>
#include <string.h>

#include "check/generate/boundary.h"
#include "check/sweep/threads.h"
#include "check/sweep/pairs.h"
#include "check/sweep/sweep.h"
#include "check/sweep/sweep_judged.h"
#include "num/clones.h"
#include "num/rng.h"
#include "reference.h"

enum {
    BLOCK = 4096, /* pairs in one call of the kernel */
    SEEDED_ROWS = 32,
    SAMPLES = 16, /* of a row's expected results against MPFR; 1 of them at level exhaustive */
};

/* A unit is one x (rows), or all x of one sign and fraction, each followed by 2 x (families). */
struct pairs_sweep {
    enum hc_op op;
    enum hc_format format;
    bool families;
    int64_t units;
    uint64_t seed;
    uint64_t digest; /* of the sweep (hc_sweep_digest) */
    uint16_t rows[HC_BOUNDARY_CODES + SEEDED_ROWS];
};

struct buffers {
    uint16_t x[BLOCK];
    uint16_t got[BLOCK];
    uint16_t y[65536];
    struct hc_pairs pairs;
    bool ready;
};

static void prepare(const struct pairs_sweep *sweep, struct buffers *buffers)
{
    if (buffers->ready)
        return;
    hc_pairs_init(&buffers->pairs, sweep->op, sweep->format);
    for (uint32_t code = 0; code < 65536; code++)
        buffers->y[code] = (uint16_t)code;
    buffers->ready = true;
}

HC_CLONED bool same_code(uint16_t infinity, uint16_t want, uint16_t got)
{
    return (want == got) | (((want & 0x7fffu) > infinity) & ((got & 0x7fffu) > infinity));
}

/* Whether any of a block's results is another one, NaN being NaN. */
HC_CLONES static bool differ(uint16_t infinity, const uint16_t *want, const uint16_t *got)
{
    uint16_t others = 0;
#pragma omp simd reduction(| : others)
    for (int i = 0; i < BLOCK; i++)
        others |= !same_code(infinity, want[i], got[i]);
    return others;
}

/* The expected side is computed in MPFR, too, at seeded places of the row. */
static enum hc_status sample(const struct pairs_sweep *sweep, const struct buffers *buffers)
{
    const struct hc_pairs *pairs = &buffers->pairs;
    struct hc_call call = {.op = sweep->op};
    call.in[HC_X] = hc_tensor1(sweep->format, 1, (void *)buffers->x);
    call.out[HC_OUT] = hc_tensor1(sweep->format, 1, NULL);
    for (uint64_t i = 0; i < (sweep->families ? 1 : SAMPLES); i++) {
        uint16_t y = (uint16_t)hc_random(sweep->seed, 2 + pairs->x, i);
        call.in[HC_Y] = hc_tensor1(sweep->format, 1, (void *)&buffers->y[y]);
        struct hc_exact real = hc_reference_value(&call, 0, 0);
        uint16_t want = (uint16_t)hc_encode(sweep->format, real.hi, real.lo, HC_NEAREST);
        if (!same_code(pairs->infinity, want, pairs->want[y]))
            return hc_fail(HC_INVALID,
                           "the expected side is wrong: %s 0x%04x 0x%04x: MPFR 0x%04x, "
                           "expected 0x%04x",
                           hc_ops[sweep->op].name, pairs->x, y, want, pairs->want[y]);
    }
    return HC_OK;
}

/* All y for the x that the expected row stands at. */
static enum hc_status row(struct hc_check *check, struct hc_queue *queue,
                          const struct pairs_sweep *sweep, struct buffers *buffers,
                          struct hc_miss *miss)
{
    const struct hc_pairs *pairs = &buffers->pairs;
    for (int i = 0; i < BLOCK; i++)
        buffers->x[i] = pairs->x;
    struct hc_call call = {.op = sweep->op};
    call.in[HC_X] = hc_tensor1(sweep->format, BLOCK, buffers->x);
    call.out[HC_OUT] = hc_tensor1(sweep->format, BLOCK, buffers->got);
    for (uint32_t from = 0; from < 65536; from += BLOCK) {
        call.in[HC_Y] = hc_tensor1(sweep->format, BLOCK, buffers->y + from);
        enum hc_status status = hc_sweep_call(check, queue, &call);
        if (status != HC_OK)
            return status;
        int64_t wrong = miss->wrong;
        bool same = memcmp(pairs->want + from, buffers->got, sizeof buffers->got) == 0 ||
                    !differ(pairs->infinity, pairs->want + from, buffers->got);
        for (uint32_t i = 0; i < BLOCK && !same; i++)
            if (!same_code(pairs->infinity, pairs->want[from + i], buffers->got[i]))
                hc_miss_note(miss, (uint64_t)pairs->x << 16 | (from + i), pairs->want[from + i],
                             buffers->got[i]);
        hc_miss_digest(miss, sweep->digest, (uint64_t)pairs->x << 16 | from, miss->wrong - wrong,
                       &call);
    }
    miss->checked += 65536;
    return hc_check_bits_only(check) ? HC_OK : sample(sweep, buffers);
}

static enum hc_status one_row(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                              void *memory, struct hc_miss *miss, const void *context)
{
    const struct pairs_sweep *sweep = context;
    struct buffers *buffers = memory;
    prepare(sweep, buffers);
    hc_pairs_at(&buffers->pairs, sweep->rows[unit]);
    return row(check, queue, sweep, buffers, miss);
}

static enum hc_status family(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                             void *memory, struct hc_miss *miss, const void *context)
{
    const struct pairs_sweep *sweep = context;
    struct buffers *buffers = memory;
    prepare(sweep, buffers);
    uint32_t binade = buffers->pairs.binade;
    uint32_t first = (uint32_t)unit % binade + (uint32_t)unit / binade * 32768;
    uint32_t last = first + 32768 - binade;
    enum hc_status status = HC_OK;
    for (uint32_t x = first; x <= last && status == HC_OK; x += binade) {
        if (x > first + binade && x < last)
            hc_pairs_double(&buffers->pairs);
        else
            hc_pairs_at(&buffers->pairs, (uint16_t)x);
        status = row(check, queue, sweep, buffers, miss);
    }
    return status;
}

/* The rows; on a backend that judges results, where they lie. */
static bool all_rows(struct hc_check *check, const struct pairs_sweep *sweep, struct hc_miss *miss)
{
    struct hc_parts parts = hc_parts_of_all(sweep->op, sweep->format, sweep->format, HC_NEAREST);
    uint32_t first[HC_BOUNDARY_CODES + SEEDED_ROWS];
    if (!hc_can_judge(hc_check_backend(check)))
        return hc_sweep_run(check, sweep->units, sizeof(struct buffers),
                            sweep->families ? family : one_row, sweep, miss);
    if (!sweep->families) {
        parts.count = sweep->units;
        parts.size = 65536;
        parts.first = first;
        for (int64_t i = 0; i < sweep->units; i++)
            first[i] = (uint32_t)sweep->rows[i] << 16;
    }
    return hc_parts_run(check, &parts, miss);
}

/* For `explain`: one operand with a few others, by the expected side. */
static void tell(struct hc_check *check, const struct pairs_sweep *sweep)
{
    static const double others[] = {1, 3, 0x1p-8, 0x1p-9, 0x1.8p-9, 0x1p-11, 0x1.8p-11, 65504};
    struct buffers *buffers = hc_check_memory(check, sizeof *buffers);
    uint16_t x = (uint16_t)hc_encode(sweep->format, 1.5, 0, HC_NEAREST);
    prepare(sweep, buffers);
    hc_pairs_at(&buffers->pairs, x);
    hc_say(check, "%lld of 65,536 x, each against all y; for x = 1.5:",
           (long long)(sweep->families ? 65536 : sweep->units));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t y = hc_encode(sweep->format, others[i], 0, HC_NEAREST);
        hc_say(check, "    %s %-14.9g -> %.9g (0x%04x)", hc_ops[sweep->op].name,
               hc_decode(sweep->format, y), hc_decode(sweep->format, buffers->pairs.want[y]),
               buffers->pairs.want[y]);
    }
}

void hc_sweep_pairs(struct hc_check *check, enum hc_op op, enum hc_format format)
{
    struct pairs_sweep sweep = {.op = op, .format = format, .seed = hc_check_seed(check)};
    sweep.families = hc_check_level(check) == HC_EXHAUSTIVE;
    hc_boundary_codes(format, sweep.rows);
    for (uint64_t i = 0; i < SEEDED_ROWS; i++)
        sweep.rows[HC_BOUNDARY_CODES + i] = (uint16_t)hc_random(sweep.seed, 1, i);
    sweep.units = HC_BOUNDARY_CODES + (hc_check_level(check) == HC_QUICK ? 0 : SEEDED_ROWS);
    if (sweep.families)
        sweep.units = format == HC_FP16 ? 2048 : 256;
    tell(check, &sweep);
    struct hc_call call = {.op = op};
    call.in[HC_X] = call.in[HC_Y] = hc_tensor1(format, BLOCK, NULL);
    call.out[HC_OUT] = hc_tensor1(format, BLOCK, NULL);
    sweep.digest = hc_sweep_digest(check, &call);
    struct hc_miss miss = {0};
    if (!all_rows(check, &sweep, &miss))
        return;
    hc_miss_claim(check, &miss, "%.9g %s %.9g (0x%04x, 0x%04x): want 0x%04x, got 0x%04x",
                  hc_decode(format, miss.where >> 16), hc_ops[op].name,
                  hc_decode(format, miss.where & 65535), (unsigned)(miss.where >> 16),
                  (unsigned)(miss.where & 65535), (unsigned)miss.want, (unsigned)miss.got);
}
