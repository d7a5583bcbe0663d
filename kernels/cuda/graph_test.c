/* Graphs of cuda-emulated, or of the backend that HC_TEST_BACKEND names: what is captured, what is
   not, and what makes a capture fail. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

static const struct hc_backend *backend;
static struct hc_queue *queue;
static struct hc_graph *graph;

static void open_queue(void)
{
    const char *name = getenv("HC_TEST_BACKEND");
    backend = hc_backend_by_name(name ? name : "cuda-emulated");
    cr_assert_not_null(backend);
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
}

static void close_queue(void)
{
    backend->close(queue);
}

TestSuite(graph, .init = open_queue, .fini = close_queue);

/* fp32 numbers on the device. */
static struct hc_tensor given(struct hc_tensor t, const float *values)
{
    t.data = backend->allocate(queue, hc_tensor_bytes(&t));
    cr_assert_not_null(t.data);
    cr_assert_eq(backend->upload(queue, t.data, values, hc_tensor_bytes(&t)), HC_OK);
    return t;
}

static struct hc_tensor vector(int64_t n, const float *values)
{
    return given(hc_tensor1(HC_FP32, n, NULL), values);
}

static void put(const struct hc_tensor *t, float value)
{
    cr_assert_eq(backend->upload(queue, t->data, &value, sizeof value), HC_OK);
}

static float first(const struct hc_tensor *t)
{
    float value;
    cr_assert_eq(backend->download(queue, &value, t->data, sizeof value), HC_OK);
    return value;
}

static enum hc_status run(const struct hc_call *call)
{
    return backend->kernel[call->op](queue, call);
}

static struct hc_graph *capture(const struct hc_call *const *calls, int count)
{
    struct hc_graph *made;
    cr_assert_eq(backend->capture(queue), HC_OK);
    for (int i = 0; i < count; i++)
        cr_assert_eq(run(calls[i]), HC_OK);
    cr_assert_eq(backend->captured(queue, &made), HC_OK);
    return made;
}

/* y = x + y */
static struct hc_call addition(const struct hc_tensor *x, const struct hc_tensor *y)
{
    return (struct hc_call){.op = HC_OP_add, .in = {*x, *y}, .out = {*y}};
}

static void release(const struct hc_tensor *t)
{
    backend->release(queue, t->data);
}

Test(graph, runs_nothing_while_it_is_captured_and_all_of_it_at_each_replay)
{
    struct hc_tensor x = vector(1, (float[]){3});
    struct hc_tensor y = vector(1, (float[]){10});
    struct hc_call add = addition(&x, &y);
    const struct hc_call *twice[] = {&add, &add};
    graph = capture(twice, 2);
    cr_expect_eq(first(&y), 10);
    cr_assert_eq(backend->replay(queue, graph), HC_OK);
    cr_expect_eq(first(&y), 16);
    put(&x, 100);
    cr_assert_eq(backend->replay(queue, graph), HC_OK);
    cr_expect_eq(first(&y), 216, "the inputs of the replay, not of the capture");
    cr_assert_eq(run(&add), HC_OK);
    cr_expect_eq(first(&y), 316, "after it kernels run at once again");
    backend->forget(queue, graph);
    release(&x);
    release(&y);
}

Test(graph, holds_the_calls_into_cublas_with_their_numbers)
{
    struct hc_tensor a = given(hc_tensor2(HC_FP32, 1, 2, NULL), (float[]){2, 3});
    struct hc_tensor b = given(hc_tensor2(HC_FP32, 2, 1, NULL), (float[]){5, 7});
    struct hc_tensor c = given(hc_tensor2(HC_FP32, 1, 1, NULL), (float[]){100});
    struct hc_tensor d = given(hc_tensor2(HC_FP32, 1, 1, NULL), (float[]){-1});
    struct hc_call call = {.op = HC_OP_gemm, .in = {a, b, c}, .out = {d}};
    call.params.gemm = (struct hc_gemm){.alpha = 2, .beta = 1};
    const struct hc_call *one = &call;
    graph = capture(&one, 1);
    call.params.gemm.alpha = 50;
    cr_expect_eq(first(&d), -1);
    put(&a, 4);
    cr_assert_eq(backend->replay(queue, graph), HC_OK);
    cr_expect_eq(first(&d), 2 * (4 * 5 + 3 * 7) + 100);
    backend->forget(queue, graph);
    release(&a);
    release(&b);
    release(&c);
    release(&d);
}

Test(graph, holds_the_plans_of_cudnn)
{
    struct hc_tensor x = given(hc_tensor4(HC_FP32, 1, 1, 1, 2, NULL), (float[]){2, 3});
    struct hc_tensor w = given(hc_tensor4(HC_FP32, 1, 1, 1, 2, NULL), (float[]){5, 7});
    struct hc_tensor y = given(hc_tensor4(HC_FP32, 1, 1, 1, 1, NULL), (float[]){-1});
    struct hc_call call = {.op = HC_OP_conv2d, .in = {x, w}, .out = {y}};
    call.params.conv = (struct hc_conv){.stride = 1};
    call.scratch = backend->allocate(queue, backend->scratch(queue, &call));
    const struct hc_call *one = &call;
    graph = capture(&one, 1);
    cr_expect_eq(first(&y), -1);
    put(&x, 10);
    cr_assert_eq(backend->replay(queue, graph), HC_OK);
    cr_expect_eq(first(&y), 10 * 5 + 3 * 7);
    backend->forget(queue, graph);
    backend->release(queue, call.scratch);
    release(&x);
    release(&w);
    release(&y);
}

/* A sum waits for the next call (pending.h). */
Test(graph, a_library_is_called_behind_the_sum_that_it_reads)
{
    struct hc_tensor x = given(hc_tensor4(HC_FP32, 1, 1, 1, 2, NULL), (float[]){2, 3});
    struct hc_tensor w = given(hc_tensor4(HC_FP32, 1, 1, 1, 2, NULL), (float[]){5, 7});
    struct hc_tensor y = given(hc_tensor4(HC_FP32, 1, 1, 1, 1, NULL), (float[]){-1});
    struct hc_call twice = {.op = HC_OP_add, .in = {[HC_X] = x, [HC_Y] = x}, .out = {[HC_OUT] = x}};
    struct hc_call conv = {.op = HC_OP_conv2d,
                           .in = {[HC_CONV_X] = x, [HC_CONV_W] = w},
                           .out = {[HC_CONV_Y] = y},
                           .params.conv = {.stride = 1}};
    struct hc_call product = {.op = HC_OP_gemm,
                              .in = {[HC_GEMM_A] = hc_tensor2(HC_FP32, 1, 2, x.data),
                                     [HC_GEMM_B] = hc_tensor2(HC_FP32, 2, 1, w.data)},
                              .out = {[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 1, 1, y.data)},
                              .params.gemm = {.alpha = 1}};
    conv.scratch = backend->allocate(queue, backend->scratch(queue, &conv) + 1);
    cr_assert_eq(run(&twice), HC_OK);
    cr_assert_eq(run(&conv), HC_OK);
    cr_expect_eq(first(&y), 4 * 5 + 6 * 7);
    cr_assert_eq(run(&twice), HC_OK);
    cr_assert_eq(run(&product), HC_OK);
    cr_expect_eq(first(&y), 8 * 5 + 12 * 7);
    backend->release(queue, conv.scratch);
    release(&x);
    release(&w);
    release(&y);
}

Test(graph, may_be_empty_and_there_may_be_several)
{
    struct hc_tensor x = vector(1, (float[]){1});
    struct hc_tensor y = vector(1, (float[]){0});
    struct hc_call add = addition(&x, &y);
    const struct hc_call *thrice[] = {&add, &add, &add};
    struct hc_graph *none = capture(thrice, 0);
    struct hc_graph *three = capture(thrice, 3);
    cr_assert_eq(backend->replay(queue, none), HC_OK);
    cr_expect_eq(first(&y), 0);
    cr_assert_eq(backend->replay(queue, three), HC_OK);
    cr_expect_eq(first(&y), 3);
    backend->forget(queue, three);
    backend->forget(queue, none);
    backend->forget(queue, NULL);
    release(&x);
    release(&y);
}

/* The blocks of a sum are counted: 5 here, and from 0 on in each launch. */
Test(graph, counts_the_blocks_of_each_launch_anew)
{
    enum { N = 5000 };
    static float ones[N];
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    struct hc_tensor x = vector(N, ones);
    struct hc_tensor y = vector(1, (float[]){0});
    struct hc_call sum = {.op = HC_OP_sum, .in = {x}, .out = {y}};
    sum.params.reduce.accumulator = HC_FP32;
    sum.scratch = backend->allocate(queue, backend->scratch(queue, &sum));
    const struct hc_call *one = &sum;
    cr_assert_eq(run(&sum), HC_OK);
    cr_expect_eq(first(&y), N);
    graph = capture(&one, 1);
    for (int i = 2; i < 5; i++) {
        put(&x, (float)i);
        cr_assert_eq(backend->replay(queue, graph), HC_OK);
        cr_expect_eq(first(&y), (float)(N - 1 + i));
    }
    backend->forget(queue, graph);
    backend->release(queue, sum.scratch);
    release(&x);
    release(&y);
}

/* A sum waits for the next call (pending.h), which may write what it reads. */
Test(graph, a_sum_is_done_before_a_copy_behind_it)
{
    struct hc_tensor x = vector(1, (float[]){3});
    struct hc_tensor y = vector(1, (float[]){4});
    struct hc_call add = addition(&x, &y);
    cr_assert_eq(run(&add), HC_OK);
    put(&x, 100);
    cr_expect_eq(first(&y), 7, "an upload");
    cr_assert_eq(run(&add), HC_OK);
    cr_assert_eq(backend->clear(queue, y.data, sizeof(float)), HC_OK);
    cr_expect_eq(first(&y), 0, "a clear");
    release(&x);
    release(&y);
}

static struct hc_tensor memory;

static bool uploads(void)
{
    return backend->upload(queue, memory.data, &(float){1}, 4) == HC_OK;
}

static bool downloads(void)
{
    return backend->download(queue, &(float){1}, memory.data, 4) == HC_OK;
}

static bool allocates(void)
{
    return backend->allocate(queue, 4) != NULL;
}

static bool captures(void)
{
    return backend->capture(queue) == HC_OK;
}

static bool replays(void)
{
    return backend->replay(queue, graph) == HC_OK;
}

static bool releases(void)
{
    backend->release(queue, memory.data);
    return false;
}

static bool clears(void)
{
    return backend->clear(queue, memory.data, 4) == HC_OK;
}

static const struct {
    const char *name;
    bool (*works)(void);
} forbidden[] = {{"upload", uploads},   {"download", downloads}, {"allocate", allocates},
                 {"capture", captures}, {"replay", replays},     {"release", releases},
                 {"clear", clears}};

Test(graph, fails_after_what_a_capture_does_not_allow_and_names_it)
{
    memory = vector(1, (float[]){7});
    struct hc_call add = addition(&memory, &memory);
    const struct hc_call *one = &add;
    graph = capture(&one, 1);
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
        char line[128];
        struct hc_graph *refused = graph;
        cr_assert_eq(backend->capture(queue), HC_OK);
        cr_expect(!forbidden[i].works(), "%s", forbidden[i].name);
        (void)snprintf(line, sizeof line, "cuda: %s while a graph is captured", forbidden[i].name);
        cr_expect_str_eq(hc_message(), line);
        (void)downloads(); /* the first one is named */
        cr_expect_eq(backend->captured(queue, &refused), HC_DEVICE);
        (void)snprintf(line, sizeof line, "cuda: no graph: %s while it was captured",
                       forbidden[i].name);
        cr_expect_str_eq(hc_message(), line);
        cr_expect_null(refused);
    }
    cr_expect_eq(first(&memory), 7);
    cr_assert_eq(backend->replay(queue, graph), HC_OK);
    cr_expect_eq(first(&memory), 14, "and all works afterwards");
    backend->forget(queue, graph);
    release(&memory);
}

Test(graph, that_a_kernel_refused_to_be_part_of_lacks_that_call)
{
    struct hc_call call = {.op = HC_OP_gemm};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, (int64_t)1 << 31, 0, NULL); /* cuBLAS counts in ints */
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, 0, 0, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, (int64_t)1 << 31, 0, NULL);
    cr_assert_eq(backend->capture(queue), HC_OK);
    cr_expect_eq(run(&call), HC_UNSUPPORTED);
    cr_assert_eq(backend->captured(queue, &graph), HC_OK);
    backend->forget(queue, graph);
}

/* More than the pinned memory of a queue holds: it is filled anew while copies from it may wait. */
Test(graph, a_source_may_be_changed_as_soon_as_its_upload_returns)
{
    enum { COUNT = 3 << 18 };
    static float values[COUNT];
    struct hc_tensor tensors[3];
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = (float)(t + 1);
        tensors[t] = vector(COUNT, values);
    }
    for (int t = 0; t < 3; t++) {
        cr_assert_eq(backend->download(queue, values, tensors[t].data, sizeof values), HC_OK);
        cr_expect_eq(values[0], (float)(t + 1));
        cr_expect_eq(values[COUNT - 1], (float)(t + 1));
        release(&tensors[t]);
    }
}
