/* Backends that cheat, each in one way, over every op: each case in which the cheat did something
   must FAIL, in host memory and on a backend with memory of its own. */
#include "check/generate/op_cases.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <xmmintrin.h>

enum { FLUSH = 0x8040 }; /* of results, and of operands */
#endif

#include "check/runner.h"

static bool did;  /* the cheat, in the case that runs */
static int calls; /* of it there */

static enum hc_status right(struct hc_queue *queue, const struct hc_call *call)
{
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static bool is_also_output(const struct hc_call *call, int i)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (call->out[o].data == call->in[i].data)
            return true;
    return false;
}

static enum hc_status inputs_in_bf16(struct hc_queue *queue, const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        const struct hc_tensor *t = &call->in[i];
        int64_t n = t->data && !is_also_output(call, i) ? hc_tensor_count(t) : 0;
        for (int64_t k = 0; k < n && t->format != HC_I32; k++) {
            uint64_t was = hc_tensor_bits(t, k);
            hc_tensor_set(t, k, hc_round(HC_BF16, hc_tensor_get(t, k)));
            did |= hc_tensor_bits(t, k) != was;
        }
    }
    return right(queue, call);
}

static enum hc_status inputs_zeroed(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        unsigned char *bytes = call->in[i].data;
        size_t n = bytes && !is_also_output(call, i) ? hc_tensor_bytes(&call->in[i]) : 0;
        for (size_t k = 0; k < n; k++) {
            did |= bytes[k] != 0;
            bytes[k] = 0;
        }
    }
    return status;
}

/* Zero in the element before the first one, or behind the last one, of each output. */
static enum hc_status beside(struct hc_queue *queue, const struct hc_call *call, bool behind)
{
    enum hc_status status = right(queue, call);
    for (int o = 0; o < hc_ops[call->op].outputs; o++) {
        const struct hc_tensor *t = &call->out[o];
        if (!t->data)
            continue;
        hc_tensor_set_bits(t, behind ? hc_tensor_count(t) : -1, 0);
        did = true;
    }
    return status;
}

static enum hc_status one_behind(struct hc_queue *queue, const struct hc_call *call)
{
    return beside(queue, call, true);
}

static enum hc_status one_before(struct hc_queue *queue, const struct hc_call *call)
{
    return beside(queue, call, false);
}

/* The first so many of each output's elements. Those updated in place stay as they were. */
static enum hc_status part(struct hc_queue *queue, const struct hc_call *call, int of)
{
    struct hc_call aside = *call;
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int o = 0; o < op->outputs; o++)
        if (aside.out[o].data)
            aside.out[o].data = malloc(hc_tensor_bytes(&aside.out[o]) + 1);
    enum hc_status status = right(queue, &aside);
    for (int o = 0; o < op->outputs; o++) {
        if (!aside.out[o].data)
            continue;
        int64_t n = hc_tensor_count(&aside.out[o]);
        int64_t some = of ? n / of : 0;
        size_t bytes = (size_t)(some * hc_formats[aside.out[o].format].bytes);
        size_t rest = hc_tensor_bytes(&aside.out[o]) - bytes;
        unsigned char *to = call->out[o].data;
        const unsigned char *from = aside.out[o].data;
        did |= memcmp(to + bytes, from + bytes, rest) != 0;
        memcpy(to, from, bytes);
        free(aside.out[o].data);
    }
    return status;
}

static enum hc_status nothing(struct hc_queue *queue, const struct hc_call *call)
{
    return part(queue, call, 0);
}

static enum hc_status first_half(struct hc_queue *queue, const struct hc_call *call)
{
    return part(queue, call, 2);
}

/* Computes for outputs that it has not seen, and thinks that the others have their results. */
static enum hc_status once_by_pointer(struct hc_queue *queue, const struct hc_call *call)
{
    static const void *seen;
    if (seen == call->out[HC_FIRST].data)
        return nothing(queue, call);
    seen = call->out[HC_FIRST].data;
    return right(queue, call);
}

/* Every second call is off by one bit. */
static enum hc_status by_turns(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    enum hc_status status = right(queue, call);
    if (calls++ % 2 && hc_tensor_count(y) > 0) {
        uint64_t was = hc_tensor_bits(y, 0);
        hc_tensor_set_bits(y, 0, was ^ 1);
        did |= !isnan(hc_tensor_get(y, 0));
    }
    return status;
}

/* Adds to what the output held, times nothing: a NaN or an infinity there stays. */
static enum hc_status onto_outputs(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    bool plain = hc_tensor_count(y) > 0 && y->format != HC_I32;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        plain &= y->data != call->in[i].data;
    double was = plain ? hc_tensor_get(y, 0) : 0;
    enum hc_status status = right(queue, call);
    if (plain) {
        uint64_t bits = hc_tensor_bits(y, 0);
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + was);
        did |= bits != hc_tensor_bits(y, 0) && !isnan(hc_tensor_get(y, 0));
    }
    return status;
}

/* Refuses what is hard: numbers that are not below 2^-8 and 2^8. */
static enum hc_status only_easy(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    for (int64_t i = 0; i < hc_tensor_count(x); i++) {
        double size = fabs(hc_tensor_get(x, i));
        if (size != 0 && !(size > 0x1p-8 && size < 0x1p8)) {
            did = true;
            return hc_fail(HC_UNSUPPORTED, "%s is not for me", hc_ops[call->op].name);
        }
    }
    return right(queue, call);
}

static enum hc_status refuses_and_writes(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_tensor was = call->out[HC_FIRST];
    size_t bytes = hc_tensor_bytes(&was);
    was.data = malloc(bytes + 1);
    memcpy(was.data, call->out[HC_FIRST].data, bytes);
    (void)right(queue, call);
    did |= calls++ == 0 && memcmp(was.data, call->out[HC_FIRST].data, bytes) != 0;
    free(was.data);
    return hc_fail(HC_UNSUPPORTED, "%s is not for me", hc_ops[call->op].name);
}

/* Bytes that the right kernel needs; the cheats get as many floats more. */
static size_t own_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    return exact->scratch ? (exact->scratch(queue, call) + 3) / 4 * 4 : 0;
}

static size_t more_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    return own_scratch(queue, call) + 100;
}

static enum hc_status dirties_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    unsigned char *scratch = call->scratch;
    enum hc_status status = right(queue, call);
    scratch[more_scratch(queue, call)] = 0;
    did = true;
    return status;
}

/* Takes scratch for zeroed. */
static enum hc_status trusts_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const unsigned char *scratch = call->scratch;
    float zero;
    memcpy(&zero, scratch + own_scratch(queue, call), sizeof zero);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    enum hc_status status = right(queue, call);
    if (hc_tensor_count(y) > 0) {
        uint64_t bits = hc_tensor_bits(y, 0);
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + (double)zero);
        did |= bits != hc_tensor_bits(y, 0) && !isnan(hc_decode(y->format, bits));
    }
    return status;
}

static enum hc_status flushes_subnormals(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | FLUSH);
    did = true;
#endif
    return status;
}

static enum hc_status rounds_upward(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
    did = fesetround(FE_UPWARD) == 0;
    return status;
}

static const struct cheat {
    const char *name;
    hc_kernel *kernel;
    size_t (*scratch)(struct hc_queue *, const struct hc_call *);
    const char *word; /* of the note in some case */
} cheats[] = {
    {"rounds its inputs to bf16 in place", inputs_in_bf16, NULL, "changed its input"},
    {"zeroes its inputs after a right result", inputs_zeroed, NULL, "changed its input"},
    {"writes one element behind", one_behind, NULL, "wrote behind out"},
    {"writes one element before", one_before, NULL, "wrote before out"},
    {"writes nothing", nothing, NULL, "unwritten"},
    {"writes the first half", first_half, NULL, "unwritten"},
    {"computes once by pointer", once_by_pointer, NULL, "unwritten"},
    {"is off by a bit every second time", by_turns, NULL, "does not repeat"},
    {"adds to what its outputs held", onto_outputs, NULL, "does not repeat"},
    {"refuses what is hard", only_easy, NULL, "by their values"},
    {"refuses, and writes", refuses_and_writes, NULL, "is unsupported, and wrote"},
    {"writes behind its scratch", dirties_scratch, more_scratch, "wrote behind scratch"},
    {"takes scratch for zeroed", trusts_scratch, more_scratch, "does not repeat"},
    {"leaves another rounding", rounds_upward, NULL, "another rounding than to nearest"},
#ifdef __SSE__
    {"leaves a thread without subnormals", flushes_subnormals, NULL, "flushed to zero"},
#endif
};

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    (void)what;
    (void)backend;
    (void)context;
    did = false;
    calls = 0;
}

struct seen {
    const struct cheat *cheat;
    int cheated;
    bool word;
};

static bool look(const struct hc_result *result, void *context)
{
    struct seen *seen = context;
    seen->cheated += did;
    seen->word |= strstr(result->note, seen->cheat->word) != NULL;
    cr_expect(!did || result->verdict == HC_FAIL, "%s on %s %s: %s, %s", result->what->name,
              result->backend, seen->cheat->name, hc_verdict_names[result->verdict], result->note);
    return true;
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static struct hc_backend cheating(const struct cheat *cheat, bool apart)
{
    struct hc_backend backend = *hc_backend_by_name("exact");
    backend.name = apart ? "cheat apart" : "cheat";
    backend.host_memory = !apart;
    backend.allocate = allocate;
    if (cheat->scratch)
        backend.scratch = cheat->scratch;
    for (int op = 0; op < HC_OP_COUNT; op++)
        backend.kernel[op] = cheat->kernel;
    return backend;
}

static void run(const struct cheat *cheat, bool apart, enum hc_level level)
{
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **cases = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        cases[i] = &table->cases[i];
    struct hc_backend backend = cheating(cheat, apart);
    const struct hc_backend *backends[] = {&backend};
    struct seen seen = {.cheat = cheat};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = table->count,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = level,
                                     .threads = 1,
                                     .starting = starting,
                                     .report = look,
                                     .context = &seen};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    cr_expect_gt(seen.cheated, 20, "%s: %d", cheat->name, seen.cheated);
    cr_expect(seen.word, "%s: no note has '%s'", cheat->name, cheat->word);
    free(cases);
}

Test(cheat, fails_every_case_in_which_it_happens)
{
    for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
        run(&cheats[i], false, HC_STANDARD);
}

Test(cheat, fails_on_a_backend_with_memory_of_its_own)
{
    for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
        run(&cheats[i], true, HC_QUICK);
}
