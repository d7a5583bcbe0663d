#include "check/sweep/sweep_judged.h"

#include <string.h>

#include "check/check_inner.h"
#include "num/integer16.h"
#include "num/rng.h"
#include "reference.h"

enum {
    ALL_PARTS = 1024,
    SAMPLES = 64, /* results against MPFR */
    PLANTED = 16, /* wrong results that the judge must find */
};

/* A sweep's memory on the backend. */
struct rig {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const struct hc_parts *parts;
    struct hc_call call;
    struct hc_judged *judged; /* one of each part, and one more */
};

bool hc_can_judge(const struct hc_backend *backend)
{
    return backend->judge != NULL;
}

struct hc_parts hc_parts_of_all(enum hc_op op, enum hc_format from, enum hc_format to,
                                enum hc_direction direction)
{
    return (struct hc_parts){.op = op,
                             .from = from,
                             .to = to,
                             .direction = direction,
                             .count = ALL_PARTS,
                             .size = 0x100000000 / ALL_PARTS};
}

static enum hc_status allocate(const struct rig *rig, void **memory, size_t bytes)
{
    *memory = rig->backend->allocate(rig->queue, bytes);
    return *memory ? HC_OK : HC_NO_MEMORY;
}

static enum hc_status open_rig(struct rig *rig, const struct hc_judged *none)
{
    const struct hc_parts *parts = rig->parts;
    struct hc_call *call = &rig->call;
    size_t judged = ((size_t)parts->count + 1) * sizeof *none;
    void *memory = NULL;
    enum hc_status status = HC_OK;
    *call = (struct hc_call){.op = parts->op};
    if (parts->op == HC_OP_cast)
        call->params.cast.direction = parts->direction;
    for (int i = 0; i < hc_ops[parts->op].inputs && status == HC_OK; i++) {
        call->in[i] = hc_tensor1(parts->from, parts->size, NULL);
        status = allocate(rig, &call->in[i].data, hc_tensor_bytes(&call->in[i]));
    }
    call->out[HC_OUT] = hc_tensor1(parts->to, parts->size, NULL);
    if (status == HC_OK)
        status = allocate(rig, &call->out[HC_OUT].data, hc_tensor_bytes(&call->out[HC_OUT]));
    if (status == HC_OK)
        status = allocate(rig, &memory, judged);
    rig->judged = memory;
    if (status == HC_OK)
        status = rig->backend->upload(rig->queue, memory, none, judged);
    if (status == HC_OK && !rig->backend->kernel[parts->op])
        status =
            hc_fail(HC_UNSUPPORTED, "%s has no %s", rig->backend->name, hc_ops[parts->op].name);
    return status == HC_OK ? hc_call_check(call) : status;
}

static void close_rig(const struct rig *rig)
{
    void *const memory[] = {rig->call.in[HC_X].data, rig->call.in[HC_Y].data,
                            rig->call.out[HC_OUT].data, rig->judged};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (memory[i])
            rig->backend->release(rig->queue, memory[i]);
}

static uint32_t first_of(const struct hc_parts *parts, int64_t part)
{
    return parts->first ? parts->first[part] : (uint32_t)part * parts->size;
}

/* Operands, and the op under test on them. */
static enum hc_status compute(const struct rig *rig, int64_t part)
{
    enum hc_status status =
        rig->backend->operands(rig->queue, &rig->call, first_of(rig->parts, part));
    return status == HC_OK ? rig->backend->kernel[rig->parts->op](rig->queue, &rig->call) : status;
}

static enum hc_status judge(const struct rig *rig, int64_t part, int64_t judged)
{
    return rig->backend->judge(rig->queue, &rig->call, first_of(rig->parts, part),
                               rig->judged + judged);
}

/* A part's results in host memory. */
static enum hc_status fetch(const struct rig *rig, uint16_t *results)
{
    return rig->backend->download(rig->queue, results, rig->call.out[HC_OUT].data,
                                  hc_tensor_bytes(&rig->call.out[HC_OUT]));
}

/* The result for operands number k by MPFR. */
static uint16_t by_mpfr(const struct hc_parts *parts, uint32_t k)
{
    bool cast = parts->op == HC_OP_cast;
    uint16_t x = (uint16_t)(k >> 16);
    uint16_t y = (uint16_t)k;
    struct hc_call call = {.op = parts->op};
    call.in[HC_X] = hc_tensor1(parts->from, 1, cast ? (void *)&k : (void *)&x);
    call.in[HC_Y] = hc_tensor1(parts->from, 1, &y);
    call.out[HC_OUT] = hc_tensor1(parts->to, 1, NULL);
    if (cast)
        call.params.cast.direction = parts->direction;
    struct hc_exact real = hc_reference_value(&call, 0, 0);
    return (uint16_t)hc_encode(parts->to, real.hi, real.lo, cast ? parts->direction : HC_NEAREST);
}

/* Adds up what was judged; the first wrong result is that of the smallest number. Which part it is in,
   or -1. */
static int64_t add_up(const struct hc_parts *parts, const struct hc_judged *judged,
                      struct hc_miss *miss)
{
    int64_t found = -1;
    for (int64_t p = 0; p < parts->count; p++) {
        miss->checked += judged[p].checked;
        miss->wrong += judged[p].wrong;
        uint32_t where = first_of(parts, p) + (parts->size - judged[p].from_end);
        if (judged[p].wrong == 0 || (found >= 0 && where >= miss->where))
            continue;
        found = p;
        miss->where = where;
    }
    return found;
}

/* Runs the part again for what came out, and asks MPFR whether it is wrong. */
static enum hc_status look_at(const struct rig *rig, int64_t part, uint16_t *results,
                              struct hc_miss *miss)
{
    uint32_t k = (uint32_t)miss->where;
    enum hc_status status = compute(rig, part);
    if (status == HC_OK)
        status = fetch(rig, results);
    if (status != HC_OK)
        return status;
    miss->want = by_mpfr(rig->parts, k);
    miss->got = results[k - first_of(rig->parts, part)];
    if (!hc_same16(hc_fields16_of(rig->parts->to), (uint32_t)miss->want, (uint32_t)miss->got))
        return HC_OK;
    return hc_fail(
        HC_INVALID,
        "%s of operands 0x%08x was judged wrong, and is 0x%04x by MPFR as well: the judge "
        "is wrong, or the result does not repeat",
        hc_ops[rig->parts->op].name, k, (unsigned)miss->want);
}

static enum hc_status sample(const struct rig *rig, uint32_t first, const uint16_t *results,
                             uint64_t seed)
{
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint32_t at = (uint32_t)hc_random(seed, 12, i) % rig->parts->size;
        uint16_t want = by_mpfr(rig->parts, first + at);
        if (!hc_same16(hc_fields16_of(rig->parts->to), want, results[at]))
            return hc_fail(HC_INVALID,
                           "the judge passes a wrong result: %s of operands 0x%08x: MPFR 0x%04x, "
                           "got 0x%04x",
                           hc_ops[rig->parts->op].name, first + at, want, results[at]);
    }
    return HC_OK;
}

/* Makes up to PLANTED results wrong by an ulp or the sign of infinity, NaN into a number. */
static struct hc_judged plant(const struct hc_parts *parts, uint16_t *results, uint64_t seed)
{
    uint16_t infinity = (uint16_t)hc_infinity16(hc_fields16_of(parts->to));
    struct hc_judged planted = {.checked = parts->size};
    uint32_t spots = parts->size / PLANTED;
    for (uint32_t i = 0; i < PLANTED; i++) {
        uint32_t at = i * spots + (uint32_t)hc_random(seed, 13, i) % spots;
        results[at] ^= (results[at] & 0x7fffu) < infinity ? 1 : 0x7000;
        planted.wrong++;
        if (i == 0)
            planted.from_end = parts->size - at;
    }
    return planted;
}

/* The judge is put to the proof on a part that it has passed. */
static enum hc_status prove(const struct rig *rig, uint16_t *results, uint64_t seed)
{
    const struct hc_parts *parts = rig->parts;
    int64_t part = (int64_t)(hc_random(seed, 11, 0) % (uint64_t)parts->count);
    struct hc_judged got;
    enum hc_status status = compute(rig, part);
    if (status == HC_OK)
        status = fetch(rig, results);
    if (status == HC_OK)
        status = sample(rig, first_of(parts, part), results, seed);
    if (status != HC_OK)
        return status;
    struct hc_judged want = plant(parts, results, seed);
    status = rig->backend->upload(rig->queue, rig->call.out[HC_OUT].data, results,
                                  hc_tensor_bytes(&rig->call.out[HC_OUT]));
    if (status == HC_OK)
        status = judge(rig, part, parts->count);
    if (status == HC_OK)
        status = rig->backend->download(rig->queue, &got, rig->judged + parts->count, sizeof got);
    if (status == HC_OK && memcmp(&want, &got, sizeof got) != 0)
        status = hc_fail(HC_INVALID,
                         "the judge overlooks: of %u wrong results planted among %u it saw %u "
                         "among %u",
                         want.wrong, want.checked, got.wrong, got.checked);
    return status;
}

static enum hc_status run(struct hc_check *check, const struct rig *rig, struct hc_judged *judged,
                          struct hc_miss *miss)
{
    const struct hc_parts *parts = rig->parts;
    enum hc_status status = HC_OK;
    for (int64_t p = 0; p < parts->count && status == HC_OK; p++) {
        status = compute(rig, p);
        if (status == HC_OK)
            status = judge(rig, p, p);
    }
    if (status == HC_OK)
        status = rig->backend->download(rig->queue, judged, rig->judged,
                                        (size_t)parts->count * sizeof *judged);
    if (status != HC_OK)
        return status;
    uint16_t *results = hc_check_memory(check, parts->size * sizeof *results);
    int64_t found = add_up(parts, judged, miss);
    if (miss->checked != parts->count * parts->size)
        return hc_fail(HC_INVALID, "the judge saw %lld results of %lld", (long long)miss->checked,
                       (long long)(parts->count * parts->size));
    return found < 0 ? prove(rig, results, check->seed) : look_at(rig, found, results, miss);
}

bool hc_parts_run(struct hc_check *check, const struct hc_parts *parts, struct hc_miss *miss)
{
    struct hc_judged *judged = hc_check_memory(check, ((size_t)parts->count + 1) * sizeof *judged);
    struct rig rig = {.backend = check->backend, .queue = check->queue, .parts = parts};
    struct hc_miss mine = {0};
    if (parts->count == 0)
        return true;
    enum hc_status status = open_rig(&rig, judged);
    if (status == HC_OK)
        status = run(check, &rig, judged, &mine);
    close_rig(&rig);
    hc_miss_add(miss, &mine);
    return hc_check_ok(check, status);
}
