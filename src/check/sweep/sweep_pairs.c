/* The sweeps over pairs of 16-bit values. */
#include <inttypes.h>

#include "check/generate/boundary.h"
#include "check/sweep/family.h"
#include "check/sweep/pairs.h"
#include "check/sweep/strays.h"
#include "check/sweep/sweep.h"
#include "check/sweep/sweep_judged.h"
#include "check/sweep/threads.h"
#include "num/rng.h"
#include "reference.h"

enum {
    BLOCK = 4096, /* pairs in one call of the kernel */
    SEEDED_ROWS = 32,
    SAMPLES = 16, /* of a row's expected results against MPFR; 1 of them at level exhaustive */
};

/* A unit is one x (rows), or all x of one fraction (families). */
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
    struct hc_family family;
    bool ready;
};

static struct hc_family *family_of(const struct pairs_sweep *sweep, struct buffers *buffers)
{
    if (!buffers->ready)
        hc_family_init(&buffers->family, sweep->op, sweep->format);
    buffers->ready = true;
    return &buffers->family;
}

static bool same_code(uint16_t infinity, uint16_t want, uint16_t got)
{
    return (want == got) | (((want & 0x7fffu) > infinity) & ((got & 0x7fffu) > infinity));
}

/* The expected side is computed in MPFR, too, at seeded places of the row. */
static enum hc_status sample(const struct pairs_sweep *sweep, const struct buffers *buffers)
{
    const struct hc_family *family = &buffers->family;
    uint16_t x = family->pairs.x;
    struct hc_call call = {.op = sweep->op};
    call.in[HC_X] = hc_tensor1(sweep->format, 1, (void *)buffers->x);
    call.out[HC_OUT] = hc_tensor1(sweep->format, 1, NULL);
    for (uint64_t i = 0; i < (sweep->families ? 1 : SAMPLES); i++) {
        uint16_t y = (uint16_t)hc_random(sweep->seed, 2 + x, i);
        call.in[HC_Y] = hc_tensor1(sweep->format, 1, (void *)&family->y[y]);
        struct hc_exact real = hc_reference_value(&call, 0, 0);
        uint16_t want = (uint16_t)hc_encode(sweep->format, real.hi, real.lo, HC_NEAREST);
        uint16_t expected = hc_family_want(family, y);
        if (!same_code(family->pairs.infinity, want, expected))
            return hc_fail(HC_INVALID,
                           "the expected side is wrong: %s 0x%04x 0x%04x: MPFR 0x%04x, "
                           "expected 0x%04x",
                           hc_ops[sweep->op].name, x, y, want, expected);
    }
    return HC_OK;
}

/* Notes each wrong result of a block. */
static void note(const struct hc_family *family, uint32_t from, const uint16_t *got,
                 struct hc_miss *miss)
{
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint16_t want = hc_family_want(family, (uint16_t)(from + i));
        if (!same_code(family->pairs.infinity, want, got[i]))
            hc_miss_note(miss, (uint64_t)family->pairs.x << 16 | (from + i), want, got[i]);
    }
}

/* All y for x, which is of the family. */
static enum hc_status row(struct hc_check *check, struct hc_queue *queue,
                          const struct pairs_sweep *sweep, struct buffers *buffers, uint16_t x,
                          struct hc_miss *miss)
{
    struct hc_family *family = &buffers->family;
    hc_family_at(family, x);
    hc_repeat(buffers->x, x, BLOCK);
    struct hc_call call = {.op = sweep->op};
    call.in[HC_X] = hc_tensor1(sweep->format, BLOCK, buffers->x);
    call.out[HC_OUT] = hc_tensor1(sweep->format, BLOCK, buffers->got);
    for (uint32_t from = 0; from < 65536; from += BLOCK) {
        call.in[HC_Y] = hc_tensor1(sweep->format, BLOCK, family->y + from);
        enum hc_status status = hc_sweep_call(check, queue, &call);
        if (status != HC_OK)
            return status;
        int64_t wrong = miss->wrong;
        if (hc_family_differs(family, from, BLOCK, buffers->got))
            note(family, from, buffers->got, miss);
        hc_miss_digest(miss, sweep->digest, (uint64_t)x << 16 | from, miss->wrong - wrong, &call);
    }
    miss->checked += 65536;
    return hc_check_bits_only(check) ? HC_OK : sample(sweep, buffers);
}

static enum hc_status one_row(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                              void *memory, struct hc_miss *miss, const void *context)
{
    const struct pairs_sweep *sweep = context;
    hc_family_begin(family_of(sweep, memory), sweep->rows[unit]);
    return row(check, queue, sweep, memory, sweep->rows[unit], miss);
}

static enum hc_status all_rows_of(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                                  void *memory, struct hc_miss *miss, const void *context)
{
    const struct pairs_sweep *sweep = context;
    struct hc_family *family = family_of(sweep, memory);
    uint32_t binade = family->pairs.binade;
    enum hc_status status = HC_OK;
    hc_family_begin(family, (uint16_t)unit);
    for (uint32_t x = (uint32_t)unit; x < 65536 && status == HC_OK; x += binade)
        status = row(check, queue, sweep, memory, (uint16_t)x, miss);
    return status;
}

/* The rows; on a backend that judges results, where they lie. */
static bool all_rows(struct hc_check *check, const struct pairs_sweep *sweep, struct hc_miss *miss)
{
    struct hc_parts parts = hc_parts_of_all(sweep->op, sweep->format, sweep->format, HC_NEAREST);
    uint32_t first[HC_BOUNDARY_CODES + SEEDED_ROWS];
    if (!hc_can_judge(hc_check_backend(check)))
        return hc_sweep_run(check, sweep->units, sizeof(struct buffers),
                            sweep->families ? all_rows_of : one_row, sweep, miss);
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
    struct hc_pairs *pairs = hc_check_memory(check, sizeof *pairs);
    uint16_t x = (uint16_t)hc_encode(sweep->format, 1.5, 0, HC_NEAREST);
    hc_pairs_init(pairs, sweep->op, sweep->format);
    hc_pairs_at(pairs, x);
    hc_say(check, "%lld of 65,536 x, each against all y; for x = 1.5:",
           (long long)(sweep->families ? 65536 : sweep->units));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t y = hc_encode(sweep->format, others[i], 0, HC_NEAREST);
        hc_say(check, "    %s %-14.9g -> %.9g (0x%04x)", hc_ops[sweep->op].name,
               hc_decode(sweep->format, y), hc_decode(sweep->format, pairs->want[y]),
               pairs->want[y]);
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
        sweep.units = format == HC_FP16 ? 1024 : 128;
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
