/* Calls of a definition on a backend that does what none may do. What is seen of a kernel of an op
   is seen here: the guards, fillings and resets are the same (check/guarded.h). */
#define _XOPEN_SOURCE 700 /* getrlimit */
#include <fenv.h>
#include <sys/resource.h>

#include "check/last_word.h"
#include "check/guarded.h"
#include "check/testing.h"

enum { N = 3 };

/* What `defined` does, given the call's x, and y as memory held it before. */
typedef enum hc_status act(uint16_t *x, uint16_t *y);

static act *acts;
static int calls;

static enum hc_status twice(uint16_t *x, uint16_t *y)
{
    for (int i = 0; i < N; i++)
        y[i] = (uint16_t)(x[i] ? x[i] + 0x400 : 0);
    return HC_OK;
}

static enum hc_status writes_far_behind(uint16_t *x, uint16_t *y)
{
    y[N] = 1;
    y[N + 2] = 2;
    return twice(x, y);
}

static enum hc_status writes_before(uint16_t *x, uint16_t *y)
{
    x[-2] = 1;
    return twice(x, y);
}

/* A byte of the filling of outputs in the guard behind one. */
static enum hc_status spreads_the_filling(uint16_t *x, uint16_t *y)
{
    ((unsigned char *)y)[N * sizeof *y] = *(unsigned char *)y;
    return twice(x, y);
}

/* It knows guards by their bytes, which are alike. */
static enum hc_status writes_where_no_guard_seems_to_be(uint16_t *x, uint16_t *y)
{
    const unsigned char *behind = (unsigned char *)(y + N);
    if (memcmp(behind, behind + 1, HC_GUARD_BYTES - 1) != 0)
        y[N] ^= 1;
    return twice(x, y);
}

static enum hc_status changes_its_input(uint16_t *x, uint16_t *y)
{
    (void)twice(x, y);
    x[1] = 0x4200;
    return HC_OK;
}

static enum hc_status leaves_the_last_one(uint16_t *x, uint16_t *y)
{
    uint16_t last = y[N - 1];
    (void)twice(x, y);
    y[N - 1] = last;
    return HC_OK;
}

static enum hc_status counts_its_calls(uint16_t *x, uint16_t *y)
{
    (void)twice(x, y);
    y[1] = (uint16_t)(0x3c00 + calls);
    return HC_OK;
}

static enum hc_status refuses_numbers(uint16_t *x, uint16_t *y)
{
    return x[0] ? hc_fail(HC_UNSUPPORTED, "not today") : twice(x, y);
}

static enum hc_status refuses_afterwards(uint16_t *x, uint16_t *y)
{
    (void)twice(x, y);
    return hc_fail(HC_UNSUPPORTED, "not today");
}

static enum hc_status rounds_upward_from_now_on(uint16_t *x, uint16_t *y)
{
    (void)fesetround(FE_UPWARD);
    return twice(x, y);
}

/* It takes no call, and only where it is asked again with zeros does it leave something. */
static enum hc_status rounds_upward_when_asked_again(uint16_t *x, uint16_t *y)
{
    (void)y;
    if (x[0] == 0)
        (void)fesetround(FE_UPWARD);
    return hc_fail(HC_UNSUPPORTED, "not today");
}

static enum hc_status limits_files(uint16_t *x, uint16_t *y)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 4096;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    return twice(x, y);
}

static enum hc_status defined(struct hc_queue *queue, const struct hc_defined_call *call)
{
    (void)queue;
    calls++;
    cr_assert_eq((uintptr_t)call->in->tensor.data % 64, 0);
    cr_assert_eq((uintptr_t)call->out->tensor.data % 64, 0);
    return acts(call->in->tensor.data, call->out->tensor.data);
}

static uint16_t y[N];

static void call_it(struct hc_check *check)
{
    uint16_t x[N] = {0x3c00, 0x4000, 0x4400}; /* 1, 2, 4 */
    struct hc_defined_operand in = {"x", hc_tensor1(HC_FP16, N, x)};
    struct hc_defined_operand out = {"y", hc_tensor1(HC_FP16, N, y)};
    struct hc_defined_call call = {.name = "twice",
                                   .digest = "0123456789abcdef",
                                   .text = "",
                                   .format = HC_FP16,
                                   .inputs = 1,
                                   .in = &in,
                                   .outputs = 1,
                                   .out = &out};
    calls = 0;
    memset(y, 0, sizeof y);
    (void)hc_do_defined(check, &call);
    cr_expect(x[0] == 0x3c00 && x[1] == 0x4000 && x[2] == 0x4400, "the caller's stay");
}

/* On a backend that works in the caller's memory and on one that has its own. */
static void run_acts(act *what, bool host_memory)
{
    struct hc_backend backend = *hc_backend_by_name("exact");
    backend.defined = defined;
    backend.host_memory = host_memory;
    acts = what;
    run_on(&backend, call_it);
}

Test(run_defined, runs_twice_and_gives_what_the_first_run_wrote)
{
    for (int i = 0; i < 2; i++) {
        run_acts(twice, i == 0);
        cr_expect_neq(result.verdict, HC_FAIL, "%s", result.note);
        cr_expect(y[0] == 0x4000 && y[1] == 0x4400 && y[2] == 0x4800);
        cr_expect_eq(calls, 2);
    }
}

Test(run_defined, sees_what_no_backend_may_do)
{
    static const struct {
        act *what;
        const char *line;
    } rows[] = {
        {writes_far_behind, "exact: twice wrote behind y: up to 6 bytes behind its last one"},
        {writes_before, "exact: twice wrote before x: 4 bytes before its first one"},
        {spreads_the_filling, "exact: twice wrote behind y: up to 1 bytes behind its last one"},
        {writes_where_no_guard_seems_to_be,
         "exact: twice wrote behind y: up to 1 bytes behind its last one"},
        {changes_its_input, "exact: twice changed its input x: [1] was 2 and is 3"},
        {leaves_the_last_one, "exact: twice leaves 1 of 3 elements of y unwritten"},
        {counts_its_calls, "exact: twice does not repeat: y[1] is 1.00097656, and 1.00195312 when "
                           "the same call runs again where memory held other bytes"},
        {refuses_numbers,
         "exact: twice refuses inputs by their values: it takes the same call with zeros"},
        {refuses_afterwards, "exact: twice says that it is unsupported, and wrote y"},
        {rounds_upward_from_now_on,
         "exact: twice leaves another rounding than to nearest in the thread that called it"},
        {rounds_upward_when_asked_again,
         "exact: twice leaves another rounding than to nearest in the thread that called it"},
        {limits_files, "exact: twice limits files to 4096 bytes"},
    };
    struct rlimit before;
    struct rlimit after;
    hc_file_limit_begin();
    (void)getrlimit(RLIMIT_FSIZE, &before);
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        run_acts(rows[i / 2].what, i % 2 == 0);
        cr_expect_eq(result.verdict, HC_FAIL, "%s", rows[i / 2].line);
        cr_expect_str_eq(result.note, rows[i / 2].line);
        cr_expect_eq(fegetround(), FE_TONEAREST);
        (void)getrlimit(RLIMIT_FSIZE, &after);
        cr_expect_eq(after.rlim_cur, before.rlim_cur);
        (void)setrlimit(RLIMIT_FSIZE, &before);
    }
}
