#include "check/sweep/sweep_judged.h"

#include <string.h>

#include "check/check_inner.h"
#include "num/integer16.h"
#include "num/rng.h"
#include "reference.h"

enum {
    ALL_PARTS = 1024,
    SAMPLES = 64,  /* results against MPFR */
    INJECTED = 16, /* wrong results that the judge must find */
};

/* A sweep, and its memory on the backend. */
struct sweep {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const struct hc_parts *parts;
    struct hc_call call;
    struct hc_judged *judged; /* one for each part, and one for the proof */
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

static enum hc_status allocate(const struct sweep *sweep, void **memory, size_t bytes)
{
    *memory = sweep->backend->allocate(sweep->queue, bytes);
    return *memory ? HC_OK : HC_NO_MEMORY;
}

static enum hc_status open_sweep(struct sweep *sweep, const struct hc_judged *none)
{
    const struct hc_parts *parts = sweep->parts;
    struct hc_call *call = &sweep->call;
    size_t judged = ((size_t)parts->count + 1) * sizeof *none;
    void *memory = NULL;
    enum hc_status status = HC_OK;
    *call = (struct hc_call){.op = parts->op};
    if (parts->op == HC_OP_cast)
        call->params.cast.direction = parts->direction;
    for (int i = 0; i < hc_ops[parts->op].inputs && status == HC_OK; i++) {
        call->in[i] = hc_tensor1(parts->from, parts->size, NULL);
        status = allocate(sweep, &call->in[i].data, hc_tensor_bytes(&call->in[i]));
    }
    call->out[HC_OUT] = hc_tensor1(parts->to, parts->size, NULL);
    if (status == HC_OK)
        status = allocate(sweep, &call->out[HC_OUT].data, hc_tensor_bytes(&call->out[HC_OUT]));
    if (status == HC_OK)
        status = allocate(sweep, &memory, judged);
    sweep->judged = memory;
    if (status == HC_OK)
        status = sweep->backend->upload(sweep->queue, memory, none, judged);
    if (status == HC_OK && !sweep->backend->kernel[parts->op])
        status =
            hc_fail(HC_UNSUPPORTED, "%s has no %s", sweep->backend->name, hc_ops[parts->op].name);
    return status == HC_OK ? hc_call_check(call) : status;
}

static void close_sweep(const struct sweep *sweep)
{
    void *const memory[] = {sweep->call.in[HC_X].data, sweep->call.in[HC_Y].data,
                            sweep->call.out[HC_OUT].data, sweep->judged};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (memory[i])
            sweep->backend->release(sweep->queue, memory[i]);
}

static uint32_t first_of(const struct hc_parts *parts, int64_t part)
{
    return parts->first ? parts->first[part] : (uint32_t)part * parts->size;
}

/* Makes a part's operands and runs the op under test on them. */
static enum hc_status compute(const struct sweep *sweep, int64_t part)
{
    enum hc_status status =
        sweep->backend->operands(sweep->queue, &sweep->call, first_of(sweep->parts, part));
    return status == HC_OK ? sweep->backend->kernel[sweep->parts->op](sweep->queue, &sweep->call)
                           : status;
}

static enum hc_status judge(const struct sweep *sweep, int64_t part, int64_t judged)
{
    return sweep->backend->judge(sweep->queue, &sweep->call, first_of(sweep->parts, part),
                                 sweep->judged + judged);
}

/* Fetches a part's results into host memory. */
static enum hc_status fetch(const struct sweep *sweep, uint16_t *results)
{
    return sweep->backend->download(sweep->queue, results, sweep->call.out[HC_OUT].data,
                                    hc_tensor_bytes(&sweep->call.out[HC_OUT]));
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

/* Adds up what was judged; the first wrong result is the one with the smallest number. The part
   that it is in, or -1. */
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

/* Runs the part again for the result that was judged wrong, and asks MPFR whether it is. */
static enum hc_status look_at(const struct sweep *sweep, int64_t part, uint16_t *results,
                              struct hc_miss *miss)
{
    uint32_t k = (uint32_t)miss->where;
    enum hc_status status = compute(sweep, part);
    if (status == HC_OK)
        status = fetch(sweep, results);
    if (status != HC_OK)
        return status;
    miss->want = by_mpfr(sweep->parts, k);
    miss->got = results[k - first_of(sweep->parts, part)];
    if (!hc_same16(hc_fields16_of(sweep->parts->to), (uint32_t)miss->want, (uint32_t)miss->got))
        return HC_OK;
    return hc_fail(
        HC_INVALID,
        "%s of operands 0x%08x was judged wrong, and is 0x%04x by MPFR as well: the judge "
        "is wrong, or the result does not repeat",
        hc_ops[sweep->parts->op].name, k, (unsigned)miss->want);
}

static enum hc_status sample(const struct sweep *sweep, uint32_t first, const uint16_t *results,
                             uint64_t seed)
{
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint32_t at = (uint32_t)hc_random(seed, 12, i) % sweep->parts->size;
        uint16_t want = by_mpfr(sweep->parts, first + at);
        if (!hc_same16(hc_fields16_of(sweep->parts->to), want, results[at]))
            return hc_fail(HC_INVALID,
                           "the judge passes a wrong result: %s of operands 0x%08x: MPFR 0x%04x, "
                           "got 0x%04x",
                           hc_ops[sweep->parts->op].name, first + at, want, results[at]);
    }
    return HC_OK;
}

/* Makes INJECTED results wrong, one in each stretch: by an ulp, or an infinity or NaN into a
   number. What the judge must say then. */
static struct hc_judged inject(const struct hc_parts *parts, uint16_t *results, uint64_t seed)
{
    uint16_t infinity = (uint16_t)hc_infinity16(hc_fields16_of(parts->to));
    struct hc_judged injected = {.checked = parts->size};
    uint32_t stretch = parts->size / INJECTED;
    for (uint32_t i = 0; i < INJECTED; i++) {
        uint32_t at = i * stretch + (uint32_t)hc_random(seed, 13, i) % stretch;
        results[at] ^= (results[at] & 0x7fffu) < infinity ? 1 : 0x7000;
        injected.wrong++;
        if (i == 0)
            injected.from_end = parts->size - at;
    }
    return injected;
}

/* Puts the judge to the proof on a part that it has passed. */
static enum hc_status prove(const struct sweep *sweep, uint16_t *results, uint64_t seed)
{
    const struct hc_parts *parts = sweep->parts;
    int64_t part = (int64_t)(hc_random(seed, 11, 0) % (uint64_t)parts->count);
    struct hc_judged got;
    enum hc_status status = compute(sweep, part);
    if (status == HC_OK)
        status = fetch(sweep, results);
    if (status == HC_OK)
        status = sample(sweep, first_of(parts, part), results, seed);
    if (status != HC_OK)
        return status;
    struct hc_judged want = inject(parts, results, seed);
    status = sweep->backend->upload(sweep->queue, sweep->call.out[HC_OUT].data, results,
                                    hc_tensor_bytes(&sweep->call.out[HC_OUT]));
    if (status == HC_OK)
        status = judge(sweep, part, parts->count);
    if (status == HC_OK)
        status =
            sweep->backend->download(sweep->queue, &got, sweep->judged + parts->count, sizeof got);
    if (status == HC_OK && memcmp(&want, &got, sizeof got) != 0)
        status = hc_fail(HC_INVALID,
                         "the judge misses errors: %u wrong results were injected among %u, it "
                         "found %u among %u",
                         want.wrong, want.checked, got.wrong, got.checked);
    return status;
}

static enum hc_status run_judged(struct hc_check *check, const struct sweep *sweep,
                                 struct hc_judged *judged, struct hc_miss *miss)
{
    const struct hc_parts *parts = sweep->parts;
    enum hc_status status = HC_OK;
    for (int64_t p = 0; p < parts->count && status == HC_OK; p++) {
        status = compute(sweep, p);
        if (status == HC_OK)
            status = judge(sweep, p, p);
    }
    if (status == HC_OK)
        status = sweep->backend->download(sweep->queue, judged, sweep->judged,
                                          (size_t)parts->count * sizeof *judged);
    if (status != HC_OK)
        return status;
    uint16_t *results = hc_check_memory(check, parts->size * sizeof *results);
    int64_t found = add_up(parts, judged, miss);
    if (miss->checked != parts->count * parts->size)
        return hc_fail(HC_INVALID, "the judge saw %lld results of %lld", (long long)miss->checked,
                       (long long)(parts->count * parts->size));
    return found < 0 ? prove(sweep, results, check->seed) : look_at(sweep, found, results, miss);
}

bool hc_parts_run(struct hc_check *check, const struct hc_parts *parts, struct hc_miss *miss)
{
    struct hc_judged *judged = hc_check_memory(check, ((size_t)parts->count + 1) * sizeof *judged);
    struct sweep sweep = {.backend = check->backend, .queue = check->queue, .parts = parts};
    struct hc_miss mine = {0};
    if (parts->count == 0)
        return true;
    hc_check_undigested(check); /* the results stay on the device */
    enum hc_status status = open_sweep(&sweep, judged);
    if (status == HC_OK)
        status = run_judged(check, &sweep, judged, &mine);
    close_sweep(&sweep);
    hc_miss_add(miss, &mine);
    return hc_check_ok(check, status);
}
