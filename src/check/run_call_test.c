/* Calls on a backend with memory of its own: exact, behind copies. */
#include "check/run_call.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct hc_backend apart;
static int lent;
static int left; /* allocations that still succeed */
static const void *seen_in;
static const void *seen_out;

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    if (left-- <= 0) {
        (void)hc_fail(HC_NO_MEMORY, "apart: no room for %zu", bytes);
        return NULL;
    }
    lent++;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    lent--;
    free(memory);
}

static enum hc_status watched(struct hc_queue *queue, const struct hc_call *call)
{
    seen_in = call->in[HC_FIRST].data;
    seen_out = call->out[HC_FIRST].data;
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static void setup(void)
{
    apart = *hc_backend_by_name("exact");
    apart.host_memory = false;
    apart.allocate = allocate;
    apart.release = release;
    apart.kernel[HC_OP_add] = watched;
    left = 100;
}

static uint16_t x[3] = {0x3c00, 0x4000, 0x4200}; /* 1, 2, 3 */

static struct hc_call sum_of(uint16_t *y)
{
    struct hc_call call = {.op = HC_OP_add};
    call.in[HC_X] = call.in[HC_Y] = hc_tensor1(HC_FP16, 3, x);
    call.out[HC_OUT] = hc_tensor1(HC_FP16, 3, y);
    return call;
}

static struct hc_breach breach;

static enum hc_status run(const struct hc_call *call)
{
    return hc_run_call(&apart, NULL, call, &breach);
}

Test(do, copies_inputs_in_and_outputs_out, .init = setup)
{
    uint16_t y[3] = {0};
    struct hc_call call = sum_of(y);
    cr_assert_eq(run(&call), HC_OK);
    cr_assert(y[0] == 0x4000 && y[1] == 0x4400 && y[2] == 0x4600);
    cr_assert(seen_in != x && seen_out != y && seen_in != seen_out);
    cr_assert_eq(lent, 0);
}

Test(do, leaves_a_call_in_place_in_place, .init = setup)
{
    struct hc_call call = sum_of(x);
    cr_assert_eq(run(&call), HC_OK);
    cr_assert_eq(x[2], 0x4600);
    cr_assert_eq(seen_in, seen_out);
    cr_assert_eq(lent, 0);
}

Test(do, gives_everything_back_when_memory_runs_out, .init = setup)
{
    uint16_t y[3] = {0};
    struct hc_call call = sum_of(y);
    left = 0;
    cr_assert_eq(run(&call), HC_NO_MEMORY);
    cr_assert_eq(strncmp(hc_message(), "apart: no room for ", 19), 0, "%s", hc_message());
    cr_assert_eq(lent, 0);
    cr_assert_eq(y[0], 0);
}

Test(do, refuses_a_call_without_data, .init = setup)
{
    struct hc_call call = sum_of(NULL);
    cr_assert_eq(run(&call), HC_INVALID);
    cr_assert_eq(strcmp(hc_message(), "add: out has no data"), 0, "%s", hc_message());
}

static int at; /* the element of the output, or of x, that is written besides */
static bool in_input;

static enum hc_status strays(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = hc_backend_by_name("exact")->kernel[call->op](queue, call);
    const struct hc_tensor *t = in_input ? &call->in[HC_FIRST] : &call->out[HC_FIRST];
    cr_assert_eq((uintptr_t)t->data % 64, 0);
    ((uint16_t *)t->data)[at] = 0x1234;
    return status;
}

Test(do, says_what_was_written_beside_which_tensor_and_how_far, .init = setup)
{
    static const struct {
        int at;
        bool in_input;
        const char *line;
    } rows[] = {
        {-2, false, "add wrote before out: 4 bytes before its first one"},
        {3, false, "add wrote behind out: up to 2 bytes behind its last one"},
        {-1, true, "add wrote before x: 2 bytes before its first one"},
        {4, true, "add wrote behind x: up to 4 bytes behind its last one"},
        {1, true, "add changed its input x: [1] was 2 and is 0.000757217407"},
    };
    apart.kernel[HC_OP_add] = strays;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        uint16_t y[3] = {0};
        struct hc_call call = sum_of(y);
        apart.host_memory = i % 2 == 0;
        at = rows[i / 2].at;
        in_input = rows[i / 2].in_input;
        cr_assert_eq(run(&call), HC_OK);
        cr_expect_str_eq(breach.text, rows[i / 2].line);
        cr_assert(x[0] == 0x3c00 && x[1] == 0x4000 && x[2] == 0x4200, "the caller's stay");
        cr_assert_eq(y[2], 0x4600);
    }
}
