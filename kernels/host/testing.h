/* For the tests beside the host kernels: tensors of random bits, queues of every kind, calls. */
#ifndef HC_KERNELS_HOST_TESTING_H
#define HC_KERNELS_HOST_TESTING_H

#include "kernels/exact/testing.h"
#include "kernels/host/host.h"
#include "num/rng.h"

/* An fp32 or 16-bit tensor of random bits; one value in eight is a special one. */
static inline struct hc_tensor random_bits(struct hc_tensor t, uint64_t stream)
{
    static const uint32_t edges[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0x00010000, 0x007f0000, 0x00800000, 0x7f7f0000, 0x477fe000,
                                     0x477ff000, 0x33000000, 0x33000001, 0x38800000, 0x3f800000};
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
        uint64_t bits = hc_random(7, stream, (uint64_t)i);
        uint32_t edge = edges[(bits >> 40) % (sizeof edges / sizeof edges[0])];
        if (bits >> 61 == 0 && t.format == HC_FP32)
            hc_tensor_set_bits(&t, i, edge);
        else if (bits >> 61 == 0)
            hc_tensor_set(&t, i, (double)hc_fp32_value(edge));
        else
            hc_tensor_set_bits(&t, i, bits);
    }
    return t;
}

/* A queue with that many threads and the loops of that name; NULL if the CPU lacks them. */
static inline struct hc_queue *queue_of(int threads, const char *loops)
{
    struct hc_queue *queue;
    if (!hc_host_loops_by_name(loops))
        return NULL;
    cr_assert_eq(hc_backend_by_name("host")->open(hc_backend_by_name("host"), &queue, threads),
                 HC_OK);
    queue->loops = hc_host_loops_by_name(loops);
    return queue;
}

static const char *const loop_names[] = {"portable", "avx2", "avx512"};

static inline void call_host(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_backend *host = hc_backend_by_name("host");
    struct hc_call ready = *call;
    size_t bytes = host->scratch(queue, call);
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    ready.scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    cr_assert_eq(host->kernel[call->op](queue, &ready), HC_OK, "%s", hc_message());
    free(ready.scratch);
}

/* The outputs of the exact backend, in memory of their own. */
static inline void want_exact(const struct hc_call *call, struct hc_tensor want[HC_MAX_OUT])
{
    struct hc_call copy = *call;
    for (int i = 0; i < hc_ops[call->op].outputs; i++)
        if (call->out[i].data)
            copy.out[i] = made(call->out[i]);
    call_exact(&copy);
    for (int i = 0; i < hc_ops[call->op].outputs; i++)
        want[i] = copy.out[i];
}

static inline void assert_same(const struct hc_call *call, const struct hc_tensor *want,
                               const char *how)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        for (int64_t i = 0; want[o].data && i < hc_tensor_count(&want[o]); i++) {
            uint64_t x = hc_tensor_bits(&want[o], i);
            uint64_t y = hc_tensor_bits(&call->out[o], i);
            cr_assert(same(want[o].format, x, y),
                      "%s %s of %lld, %s: out%d[%lld] want %llx got %llx", hc_ops[call->op].name,
                      hc_formats[call->in[HC_FIRST].format].name,
                      (long long)hc_tensor_count(&call->in[HC_FIRST]), how, o, (long long)i,
                      (unsigned long long)x, (unsigned long long)y);
        }
}

/* Runs the call on every set of loops with one and three threads: the bits are exact's. */
static inline void assert_exact_bits(const struct hc_call *call)
{
    struct hc_tensor want[HC_MAX_OUT];
    want_exact(call, want);
    for (int s = 0; s < 3; s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            struct hc_queue *queue = queue_of(threads, loop_names[s]);
            if (!queue)
                continue;
            call_host(queue, call);
            assert_same(call, want, loop_names[s]);
            hc_backend_by_name("host")->close(queue);
        }
}

/* Nine runs, by all loops and one to three threads. */
static inline void assert_one_result(const struct hc_call *call)
{
    struct hc_tensor first[HC_MAX_OUT] = {{.data = NULL}};
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        first[o] = made(call->out[o]);
    for (int v = 0; v < 9; v++) {
        struct hc_queue *queue = queue_of(1 + v % 3, loop_names[v / 3]);
        if (!queue)
            continue;
        call_host(queue, call);
        for (int o = 0; o < hc_ops[call->op].outputs && v == 0; o++)
            memcpy(first[o].data, call->out[o].data, hc_tensor_bytes(&first[o]));
        assert_same(call, first, loop_names[v / 3]);
        hc_backend_by_name("host")->close(queue);
    }
}

#endif
