/* All cases on backends with some of the ops. A claim that needs a missing op must end as
   UNIMPLEMENTED, never as FAIL or ERROR. */
#include <criterion/criterion.h>
#include <string.h>

#include "cases/registry.h"
#include "check/runner.h"
#include "op/defined.h"

static const struct hc_backend *whole;
static struct hc_backend subject;
static bool used[HC_OP_ROOM];

enum { MAX = 1024 };
static const struct hc_case *quick[MAX];
static int quick_count;

static void choose(void)
{
    int n;
    const struct hc_case *const *all = hc_all_cases(&n);
    for (int i = 0; i < n; i++)
        /* What memory kernels touch is asked of those that there are. */
        if (all[i]->level == HC_QUICK && !all[i]->once && !all[i]->units &&
            strncmp(all[i]->name, "memory/", strlen("memory/")) != 0) {
            cr_assert_lt(quick_count, MAX);
            quick[quick_count++] = all[i];
        }
    whole = hc_backend_by_name("exact");
    subject = *whole;
    subject.name = "some of exact";
}

TestSuite(partial, .init = choose);

struct seen {
    int verdicts[HC_VERDICT_COUNT];
    const char *lacks;
};

static bool look(const struct hc_result *result, void *context)
{
    struct seen *seen = context;
    seen->verdicts[result->verdict]++;
    cr_expect(result->verdict == HC_PASS || result->verdict == HC_UNIMPLEMENTED,
              "%s without %s: %s, %s", result->what->name, seen->lacks,
              hc_verdict_names[result->verdict], result->note);
    return true;
}

static struct seen run(const struct hc_case *const *cases, int count, const char *lacks)
{
    static const struct hc_backend *const backends[] = {&subject};
    struct seen seen = {.lacks = lacks};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = count,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = HC_QUICK,
                                     .seed = 1,
                                     .threads = 1,
                                     .report = look,
                                     .context = &seen};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    return seen;
}

Test(partial, with_cast_and_add_alone_no_case_fails)
{
    memset(subject.kernel, 0, sizeof subject.kernel);
    subject.kernel[HC_OP_cast] = whole->kernel[HC_OP_cast];
    subject.kernel[HC_OP_add] = whole->kernel[HC_OP_add];
    struct seen seen = run(quick, quick_count, "all but cast and add");
    cr_assert(seen.verdicts[HC_PASS] > 10 && seen.verdicts[HC_UNIMPLEMENTED] > 100,
              "%d PASS, %d UNIMPLEMENTED", seen.verdicts[HC_PASS], seen.verdicts[HC_UNIMPLEMENTED]);
}

/* Ops of even numbers, and of odd ones. */
Test(partial, with_half_of_the_ops_no_case_fails)
{
    for (int half = 0; half < 2; half++) {
        for (int op = 0; op < HC_OP_COUNT; op++)
            subject.kernel[op] = op % 2 == half ? whole->kernel[op] : NULL;
        struct seen seen = run(quick, quick_count, half ? "every other op" : "every second op");
        cr_assert(seen.verdicts[HC_PASS] > 30 && seen.verdicts[HC_UNIMPLEMENTED] > 30,
                  "%d PASS, %d UNIMPLEMENTED", seen.verdicts[HC_PASS],
                  seen.verdicts[HC_UNIMPLEMENTED]);
    }
}

static enum hc_status note(struct hc_queue *queue, const struct hc_call *call)
{
    used[call->op] = true;
    return whole->kernel[call->op](queue, call);
}

/* Which ops the case calls. */
struct calls {
    bool op[HC_OP_ROOM];
};

static struct calls ops_of(const struct hc_case *const *what)
{
    struct calls calls = {{false}};
    memset(used, 0, sizeof used);
    for (int op = 0; op < HC_OP_COUNT; op++)
        subject.kernel[op] = note;
    (void)run(what, 1, "nothing");
    for (int op = 0; op < HC_OP_COUNT; op++)
        calls.op[op] = used[op];
    return calls;
}

/* Cases that find an op missing late, in the middle of their claims. Rows of one function that call
   the same ops lack them in the same way, so the first of them stands for all. */
Test(partial, without_one_op_that_it_calls_a_case_is_unimplemented)
{
    static struct calls calls[MAX];
    for (int c = 0; c < quick_count; c++) {
        bool seen = false;
        calls[c] = ops_of(&quick[c]);
        for (int before = 0; before < c && !seen; before++)
            seen = quick[before]->run == quick[c]->run &&
                   memcmp(&calls[before], &calls[c], sizeof *calls) == 0;
        for (int op = 0; op < HC_OP_COUNT && !seen; op++) {
            if (!calls[c].op[op])
                continue;
            memcpy(subject.kernel, whole->kernel, sizeof subject.kernel);
            subject.kernel[op] = NULL;
            struct seen lacking = run(&quick[c], 1, hc_ops[op].name);
            /* If a definition says the op, the case is left out instead. */
            bool left_out = hc_ops[op].class_ == HC_CLASS_DEFINED;
            cr_expect(lacking.verdicts[HC_UNIMPLEMENTED] == !left_out &&
                          (!left_out || lacking.verdicts[HC_PASS] == 0),
                      "%s without %s", quick[c]->name, hc_ops[op].name);
        }
    }
}
