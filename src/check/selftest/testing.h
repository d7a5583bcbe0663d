/* For the tests of backends that cheat, each in one way, over every op: each case in which the
   cheat did something must FAIL, in host memory and on a backend with memory of its own. */
#ifndef HC_CHECK_SELFTEST_TESTING_H
#define HC_CHECK_SELFTEST_TESTING_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/cases.h"
#include "check/runner.h"

static bool did;  /* the cheat, in the case that runs */
static int calls; /* of it there */

struct cheat {
    const char *name;
    hc_kernel *kernel;
    size_t (*scratch)(struct hc_queue *, const struct hc_call *);
    const char *word; /* of the note in some case */
};

static inline enum hc_status right(struct hc_queue *queue, const struct hc_call *call)
{
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

/* Bytes that the right kernel needs; the cheats get as many floats more. */
static inline size_t own_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    return exact->scratch ? (exact->scratch(queue, call) + 3) / 4 * 4 : 0;
}

static inline size_t more_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    return own_scratch(queue, call) + 100;
}

static inline void starting(const struct hc_case *what, const char *backend, void *context)
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

static inline bool look(const struct hc_result *result, void *context)
{
    struct seen *seen = context;
    seen->cheated += did;
    seen->word |= strstr(result->note, seen->cheat->word) != NULL;
    cr_expect(!did || result->verdict == HC_FAIL, "%s on %s %s: %s, %s", result->what->name,
              result->backend, seen->cheat->name, hc_verdict_names[result->verdict], result->note);
    return true;
}

static inline void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline struct hc_backend cheating(const struct cheat *cheat, bool apart)
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

/* All quick cases; at level standard also a third of the others, another one for the next cheat. */
static inline void run(const struct cheat *cheat, bool apart, enum hc_level level)
{
    static int turn;
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **cases = malloc((size_t)table->count * sizeof(struct hc_case *));
    int n = 0;
    turn++;
    for (int i = 0; i < table->count; i++)
        if (table->cases[i].level == HC_QUICK || i % 3 == turn % 3)
            cases[n++] = &table->cases[i];
    struct hc_backend backend = cheating(cheat, apart);
    const struct hc_backend *backends[] = {&backend};
    struct seen seen = {.cheat = cheat};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = n,
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

#endif
