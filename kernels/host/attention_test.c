/* The ops of a transformer on host: one result, whatever the loops and the threads are, and keys
   that a row does not see change nothing of it. */
#include <math.h>

#include "kernels/host/testing.h"
#include "op/later.h"
#include "op/params.h"

static struct hc_tensor filled(struct hc_tensor t, uint64_t stream)
{
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i,
                      t.format == HC_I32 ? (double)(i % 5 - 1)
                                         : hc_random_normal(11, stream, (uint64_t)i));
    return t;
}

static struct hc_call attention(enum hc_format f, int64_t h, int64_t t, int64_t d, int64_t u,
                                int64_t e)
{
    struct hc_call call = {
        .op = HC_OP_attention,
        .in = {filled(hc_tensor3(f, h, t, d, NULL), 1), filled(hc_tensor3(f, h, u, d, NULL), 2),
               filled(hc_tensor3(f, h, u, e, NULL), 3)},
        .out = {made(hc_tensor3(f, h, t, e, NULL)), made(hc_tensor2(HC_FP32, h, t, NULL))}};
    hc_params_usual(call.op, &call.params);
    return call;
}

/* With o and lse of the forward pass. */
static struct hc_call gradient(struct hc_call *forward)
{
    const struct hc_tensor *in = forward->in;
    struct hc_call call = {.op = HC_OP_attention_backward, .params = forward->params};
    call_exact(forward);
    for (int i = 0; i < 3; i++)
        call.in[i] = in[i];
    call.in[HC_ATTENTION_BWD_O] = forward->out[HC_ATTENTION_Y];
    call.in[HC_ATTENTION_BWD_LSE] = forward->out[HC_ATTENTION_LSE];
    call.in[HC_ATTENTION_BWD_DY] = filled(forward->out[HC_ATTENTION_Y], 4);
    for (int i = 0; i < 3; i++)
        call.out[i] = made(in[i]);
    return call;
}

static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};

Test(attention, has_one_result_whatever_the_loops_and_the_threads_are)
{
    for (int f = 0; f < 3; f++) {
        struct hc_call call = attention(formats[f], 5, 67, 33, 83, 18);
        struct hc_call back = gradient(&call);
        assert_one_result(&call);
        assert_one_result(&back);
    }
}

Test(attention, neighbours_have_one_result_whatever_the_loops_and_the_threads_are)
{
    for (int f = 0; f < 3; f++) {
        struct hc_tensor x = filled(hc_tensor2(formats[f], 70, 301, NULL), 1);
        struct hc_tensor y = filled(x, 2);
        struct hc_tensor dy = filled(x, 3);
        struct hc_tensor id = filled(hc_tensor1(HC_I32, 70, NULL), 0);
        struct hc_call call = {.op = HC_OP_swiglu, .in = {x, y}, .out = {made(x)}};
        assert_one_result(&call);
        call = (struct hc_call){
            .op = HC_OP_swiglu_backward, .in = {x, y, dy}, .out = {made(x), made(x)}};
        assert_one_result(&call);
        call = (struct hc_call){.op = HC_OP_embedding, .in = {x, id}, .out = {made(x)}};
        assert_one_result(&call);
        call = (struct hc_call){.op = HC_OP_embedding_backward,
                                .in = {x, id},
                                .out = {made(hc_tensor2(formats[f], 4, 301, NULL))}};
        hc_params_usual(call.op, &call.params);
        assert_one_result(&call);
        call = (struct hc_call){.op = HC_OP_rotary_halves,
                                .in = {filled(hc_tensor3(formats[f], 3, 70, 301, NULL), 1),
                                       filled(hc_tensor2(HC_FP32, 70, 301, NULL), 2),
                                       filled(hc_tensor2(HC_FP32, 70, 301, NULL), 3)},
                                .out = {made(hc_tensor3(formats[f], 3, 70, 301, NULL))}};
        assert_one_result(&call);
    }
}

/* Infinities and NaN in the last key and its v, and in the last row: all others are as before. */
Test(attention, what_a_row_does_not_see_does_not_reach_it)
{
    enum { T = 43, D = 20 };
    struct hc_call call = attention(HC_FP32, 1, T, D, T, D);
    struct hc_call back = gradient(&call);
    struct hc_queue *queue = queue_of(1, "portable");
    queue->loops = hc_host_loops_best();
    struct hc_tensor y = made(call.out[HC_ATTENTION_Y]);
    struct hc_tensor dq = made(back.out[HC_ATTENTION_BWD_DQ]);
    call_host(queue, &call);
    call_host(queue, &back);
    memcpy(y.data, call.out[HC_ATTENTION_Y].data, hc_tensor_bytes(&y));
    memcpy(dq.data, back.out[HC_ATTENTION_BWD_DQ].data, hc_tensor_bytes(&dq));
    for (int64_t d = 0; d < D; d++) {
        hc_tensor_set(&call.in[HC_ATTENTION_K], (T - 1) * D + d, (double)INFINITY);
        hc_tensor_set(&call.in[HC_ATTENTION_V], (T - 1) * D + d, (double)NAN);
    }
    call_host(queue, &call);
    call_host(queue, &back);
    for (int64_t i = 0; i < (T - 1) * D; i++) {
        cr_assert_eq(hc_tensor_get(&y, i), hc_tensor_get(&call.out[HC_ATTENTION_Y], i));
        cr_assert_eq(hc_tensor_get(&dq, i), hc_tensor_get(&back.out[HC_ATTENTION_BWD_DQ], i));
    }
    hc_backend_by_name("host")->close(queue);
}

Test(attention, a_row_beyond_the_table_is_refused)
{
    float w[6] = {0};
    float y[3];
    int32_t id[] = {1, 2, -1};
    struct hc_queue *queue = queue_of(1, "portable");
    struct hc_call call = {.op = HC_OP_embedding,
                           .in = {hc_tensor2(HC_FP32, 2, 1, w), hc_tensor1(HC_I32, 3, id)},
                           .out = {hc_tensor2(HC_FP32, 3, 1, y)}};
    const struct hc_backend *host = hc_backend_by_name("host");
    cr_assert_eq(host->kernel[call.op](queue, &call), HC_INVALID);
    cr_expect_str_eq(hc_message(), "embedding: id[1] is 2, and the table has 2 rows");
    id[1] = 0;
    cr_assert_eq(host->kernel[call.op](queue, &call), HC_OK);
    cr_expect_eq(y[2], 0, "a negative index reads nothing");
    host->close(queue);
}
