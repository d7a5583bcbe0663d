#include "check/check.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"
#include "op/text.h"

const char *const hc_verdict_names[HC_VERDICT_COUNT] = {
    [HC_PASS] = "PASS",
    [HC_FAIL] = "FAIL",
    [HC_SKIPPED] = "SKIPPED",
    [HC_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [HC_MISTRUSTED] = "MISTRUSTED",
    [HC_ERROR] = "ERROR",
};

struct hc_check_block {
    struct hc_check_block *next;
    void *memory;
};

const struct hc_case *hc_check_case(const struct hc_check *check)
{
    return check->what;
}

void hc_claim_case(struct hc_check *check, const struct hc_case *other)
{
    const struct hc_case *self = check->what;
    struct hc_story *story = check->story;
    const struct hc_result before = check->result;
    int64_t wrong = check->result.wrong;
    assert(!other->once && !other->against_exact);
    check->what = other;
    check->story = NULL;
    other->run(check);
    check->what = self;
    check->story = story;
    check->result.pictures = before.pictures;
    check->result.exhibits = before.exhibits;
    check->result.spread = before.spread;
    wrong = check->result.wrong - wrong;
    hc_check_tell(check, &(struct hc_claimed){.kind = HC_CLAIMED_SWEEP,
                                              .what = other->name,
                                              .checked = check->result.checked - before.checked,
                                              .wrong = wrong,
                                              .error = (double)wrong,
                                              .first = wrong ? check->result.note : NULL});
}

const struct hc_backend *hc_check_backend(const struct hc_check *check)
{
    return check->backend;
}

struct hc_queue *hc_check_queue(const struct hc_check *check)
{
    return check->queue;
}

uint64_t hc_check_seed(const struct hc_check *check)
{
    return check->seed;
}

uint64_t hc_case_seed(const struct hc_check *check)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = check->what ? check->what->name : ""; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return hash ^ check->seed;
}

enum hc_level hc_check_level(const struct hc_check *check)
{
    return check->level;
}

void *hc_check_memory(struct hc_check *check, size_t bytes)
{
    struct hc_check_block *block = malloc(sizeof *block);
    size_t rounded = (bytes + 63) / 64 * 64;
    void *memory = rounded < bytes ? NULL : aligned_alloc(64, rounded ? rounded : 64);
    if (!block || !memory) {
        free(memory);
        free(block);
        (void)hc_fail(HC_NO_MEMORY, "no memory for %zu bytes of the case", bytes);
        assert(check->no_memory);
        longjmp(*check->no_memory, 1);
    }
    memset(memory, 0, rounded ? rounded : 64);
    *block = (struct hc_check_block){check->memory, memory};
    check->memory = block;
    return memory;
}

void hc_check_run(struct hc_check *check)
{
    jmp_buf no_memory;
    check->no_memory = &no_memory;
    if (setjmp(no_memory) == 0)
        check->what->run(check);
    else
        hc_check_failed(check);
    check->no_memory = NULL;
}

void hc_check_end(struct hc_check *check)
{
    while (check->memory) {
        struct hc_check_block *block = check->memory;
        check->memory = block->next;
        free(block->memory);
        free(block);
    }
}

struct hc_tensor hc_check_tensor(struct hc_check *check, struct hc_tensor shape)
{
    shape.data = hc_check_memory(check, hc_tensor_bytes(&shape));
    return shape;
}

struct hc_tensor hc_check_vector(struct hc_check *check, enum hc_format format, int64_t n)
{
    return hc_check_tensor(check, hc_tensor1(format, n, NULL));
}

void hc_check_verdict(struct hc_check *check, enum hc_verdict verdict)
{
    static const int weight[HC_VERDICT_COUNT] = {
        [HC_PASS] = 0,          [HC_MISTRUSTED] = 1, [HC_SKIPPED] = 2,
        [HC_UNIMPLEMENTED] = 3, [HC_ERROR] = 4,      [HC_FAIL] = 5,
    };
    if (weight[verdict] > weight[check->result.verdict])
        check->result.verdict = verdict;
}

static void note(struct hc_check *check, const char *format, va_list arguments)
{
    (void)hc_text_format(check->result.note, sizeof check->result.note, format, arguments);
}

void hc_check_note(struct hc_check *check, const char *format, ...)
{
    va_list arguments;
    if (check->result.note[0])
        return;
    va_start(arguments, format);
    note(check, format, arguments);
    va_end(arguments);
}

double hc_ratio(double error, double bound)
{
    if (error <= bound)
        return bound > 0 && bound < (double)INFINITY ? error / bound : 0;
    return bound > 0 && !isnan(error) ? error / bound : (double)INFINITY;
}

bool hc_check_bits_only(const struct hc_check *check)
{
    return check->bits_only;
}

/* Later claims would be about outputs that nobody has made. */
bool hc_check_is_cut(const struct hc_check *check)
{
    return check->result.verdict == HC_UNIMPLEMENTED || check->result.verdict == HC_ERROR;
}

bool hc_check_compared(struct hc_check *check, double error, double bound, const char *unit)
{
    bool held = error <= bound;
    double ratio = hc_ratio(error, bound);
    if (check->bits_only)
        return true;
    if (hc_check_is_cut(check))
        return held;
    check->result.checked++;
    if (check->result.unit == NULL || ratio > check->worst) {
        check->worst = ratio;
        check->result.error = error;
        check->result.bound = bound;
        check->result.unit = unit;
    }
    if (!held) {
        check->result.wrong++;
        hc_check_verdict(check, HC_FAIL);
    }
    return held;
}

void hc_check_judged(struct hc_check *check, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    const struct hc_tensor *in = &call->in[HC_FIRST];
    bool gemm = hc_ops[call->op].class_ == HC_CLASS_GEMM;
    const struct hc_tensor *t = gemm ? out : in;
    bool products = gemm || hc_ops[call->op].class_ == HC_CLASS_CONV;
    double work = (double)hc_tensor_count(out) * (products ? hc_call_length(call) : 1);
    work = fmax(work, (double)hc_tensor_count(in));
    struct hc_largest *largest = &check->result.largest;
    if (check->bits_only || !(work > (double)largest->work))
        return;
    largest->work = (int64_t)work;
    int at = snprintf(largest->call, sizeof largest->call, "%s ", hc_ops[call->op].name);
    for (int d = 0; d < t->rank && at < (int)sizeof largest->call; d++)
        at += snprintf(largest->call + at, sizeof largest->call - (size_t)at, "%s%lld",
                       d ? "x" : "", (long long)t->shape[d]);
    if (gemm && at < (int)sizeof largest->call)
        (void)snprintf(largest->call + at, sizeof largest->call - (size_t)at, "x%.0f",
                       hc_call_length(call));
}

void hc_check_breach(struct hc_check *check, const char *backend, const char *line)
{
    char what[320];
    (void)hc_text_write(what, sizeof what, "%s: %s", backend, line);
    hc_check_tell(check, &(struct hc_claimed){.kind = HC_CLAIMED_TRUE, .what = what, .error = 1});
    check->result.checked++;
    check->result.wrong++;
    if (check->result.verdict != HC_FAIL)
        check->result.note[0] = '\0';
    hc_check_verdict(check, HC_FAIL);
    hc_check_note(check, "%s", what);
    if (hc_ratio(1, 0) > check->worst || !check->result.unit) {
        check->worst = hc_ratio(1, 0);
        check->result.error = 1;
        check->result.bound = 0;
        check->result.unit = "claims";
    }
}

void hc_skip(struct hc_check *check, const char *format, ...)
{
    va_list arguments;
    hc_check_verdict(check, HC_SKIPPED);
    if (check->result.verdict != HC_SKIPPED)
        return;
    va_start(arguments, format);
    note(check, format, arguments);
    va_end(arguments);
}

void hc_mistrust(struct hc_check *check, const char *format, ...)
{
    va_list arguments;
    hc_check_verdict(check, HC_MISTRUSTED);
    if (check->result.verdict != HC_MISTRUSTED)
        return;
    va_start(arguments, format);
    note(check, format, arguments);
    va_end(arguments);
}

bool hc_check_ok(struct hc_check *check, enum hc_status status)
{
    if (status == HC_UNSUPPORTED) {
        hc_check_note(check, "%s", hc_message());
        hc_check_verdict(check, HC_UNIMPLEMENTED);
    } else if (status != HC_OK) {
        hc_check_failed(check);
    }
    return status == HC_OK;
}

void hc_check_failed(struct hc_check *check)
{
    hc_check_note(check, "%s", hc_message());
    hc_check_verdict(check, HC_ERROR);
}

void hc_remark(struct hc_check *check, const char *format, ...)
{
    va_list arguments;
    if (check->result.note[0])
        return;
    va_start(arguments, format);
    note(check, format, arguments);
    va_end(arguments);
}

void hc_check_tell(struct hc_check *check, const struct hc_claimed *claimed)
{
    if (check->story && !hc_check_is_cut(check))
        hc_story_claim(check->story, claimed);
}

void hc_say(struct hc_check *check, const char *format, ...)
{
    if (!check->story)
        return;
    va_list arguments;
    va_start(arguments, format);
    hc_story_say(check->story, format, arguments);
    va_end(arguments);
}
