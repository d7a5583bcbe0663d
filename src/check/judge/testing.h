/* For the tests of the judge: calls with memory. */
#ifndef HC_CHECK_JUDGE_TESTING_H
#define HC_CHECK_JUDGE_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "check/judge/cut.h"
#include "check/judge/judge.h"
#include "check/run_call.h"
#include "op/descriptor.h"

static const struct hc_accumulator fp32_sums = {.precision = 24, .block = 1};

/* Memory for every slot that the call has. It is never freed. */
static inline void give_memory(struct hc_call *call)
{
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        if (hc_op_absent(call, s))
            continue;
        t->data = aligned_alloc(64, (hc_tensor_bytes(t) + 64) / 64 * 64);
        cr_assert_not_null(t->data);
        memset(t->data, 0, hc_tensor_bytes(t));
    }
}

/* Runs the call on a backend. */
static inline void run_on(const char *name, const struct hc_call *call)
{
    const struct hc_backend *backend = hc_backend_by_name(name);
    struct hc_queue *queue;
    struct hc_breach breach;
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
    cr_assert_eq(hc_run_call(backend, queue, call, &breach), HC_OK, "%s", hc_message());
    backend->close(queue);
}

/* conv2d of images [2, 9, 8, 3] with 4 filters of 3 x 3, its result from `host`. */
static inline struct hc_call convolution(enum hc_format format, int stride, int pad)
{
    struct hc_call call = {.op = HC_OP_conv2d, .params.conv = {.stride = stride, .pad = pad}};
    call.in[HC_CONV_X] = hc_tensor4(format, 2, 9, 8, 3, NULL);
    call.in[HC_CONV_W] = hc_tensor4(format, 4, 3, 3, 3, NULL);
    call.out[HC_CONV_Y] = hc_tensor4(format, 2, (9 + 2 * pad - 3) / stride + 1,
                                     (8 + 2 * pad - 3) / stride + 1, 4, NULL);
    give_memory(&call);
    hc_draw_inputs(&call, HC_DRAW_NORMAL, 7);
    run_on("host", &call);
    return call;
}

static inline struct hc_judged_output judged(const struct hc_call *call, int out)
{
    struct hc_judge judge;
    struct hc_judged_output r;
    cr_assert_eq(hc_judge_open(&judge, call, &fp32_sums), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_judge_output(&judge, out, -1, &r), HC_OK);
    hc_judge_close(&judge);
    return r;
}

#endif
