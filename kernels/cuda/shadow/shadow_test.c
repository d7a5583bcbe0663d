#include "kernels/cuda/shadow/testing.h"

TestSuite(shadow, .init = begin, .fini = end);

static void behind(const void *args)
{
    const struct arguments *a = args;
    a->to[ROOM / 4] = 0;
}

static void straddling(const void *args)
{
    const struct arguments *a = args;
    memcpy((unsigned char *)a->to + ROOM - 2, a->to, 4);
}

static void behind_shared(const void *args)
{
    (void)args;
    ((unsigned char *)hc_shared())[4 * THREADS] = 0;
}

static void before_shared(const void *args)
{
    const struct arguments *a = args;
    a->to[0] = ((unsigned *)hc_shared())[-1];
}

static unsigned variable;

static void host_memory(const void *args)
{
    const struct arguments *a = args;
    a->to[0] = variable++;
}

static void changes_arguments(const void *args)
{
    ((struct arguments *)(size_t)args)->to = NULL;
}

static void reads_constants(const void *args)
{
    const struct arguments *a = args;
    static const unsigned table[] = {7, 8, 9};
    a->to[0] = table[hc_threads()];
}

Test(shadow, finds_accesses_beside_all_that_a_kernel_has)
{
    assert_found(behind, 1, 1, "beside all");
    assert_found(straddling, 1, 1, "writes 4 bytes");
    assert_found(behind_shared, 1, 1, "shared memory + 256 (of 256 bytes)");
    assert_found(before_shared, 1, 1, "reads 4 bytes at shared memory - 4");
    assert_found(host_memory, 1, 1, "beside all");
    assert_found(changes_arguments, 1, 1, "beside all");
    assert_clean(reads_constants, 1, 1);
}

static void reads_scratch(const void *args)
{
    const struct arguments *a = args;
    a->to[0] = a->other[1];
}

static void reads_shared(const void *args)
{
    const struct arguments *a = args;
    unsigned *room = hc_shared();
    if (hc_block() == 0)
        room[0] = 1;
    a->to[hc_block()] = room[0];
}

static void writes_scratch(const void *args)
{
    const struct arguments *a = args;
    a->other[1] = 1;
}

Test(shadow, finds_what_nobody_has_written)
{
    assert_found(reads_scratch, 1, 1, "which nobody has written");
    assert_found(reads_shared, 2, 1,
                 "kernel test, block 1, thread 0 reads 4 bytes at shared memory + 0");
    assert_clean(writes_scratch, 1, 1);
    assert_clean(reads_scratch, 1, 1);
}

static void off_by_two(const void *args)
{
    const struct arguments *a = args;
    *(unsigned *)(void *)((char *)a->to + 2) = 1;
}

static void vector(const void *args)
{
    const struct arguments *a = args;
    hc_vector_at(a->to + 1, 16);
}

Test(shadow, finds_what_is_not_aligned)
{
    assert_found(off_by_two, 1, 1, "writes 4 bytes at memory + 2 (of 256 bytes): not aligned");
    assert_found(vector, 1, 1, "16 bytes at memory + 4 (of 256 bytes): not aligned");
}

/* add: x and y of 8 fp32 each, out behind them. */
static struct hc_call sum(void)
{
    return (struct hc_call){
        .op = HC_OP_add,
        .in = {hc_tensor1(HC_FP32, 8, memory), hc_tensor1(HC_FP32, 8, memory + 32)},
        .out = {hc_tensor1(HC_FP32, 8, memory + 64)}};
}

static void adds(const void *args)
{
    const struct arguments *a = args;
    a->to[16 + hc_thread()] = a->to[0] + a->to[8];
}

static void writes_an_input(const void *args)
{
    const struct arguments *a = args;
    a->to[8] = 0;
}

static void reads_behind_the_inputs(const void *args)
{
    const struct arguments *a = args;
    a->to[16] = a->to[24];
}

static void reads_its_output(const void *args)
{
    const struct arguments *a = args;
    a->to[16] += 1;
}

static const char *in_call(const struct hc_call *call, void (*entry)(const void *), int threads)
{
    hc_shadow_begin(shadow, call, 0);
    const char *got = run(entry, 1, threads);
    hc_shadow_end(shadow, got[0] != '\0');
    const char *also = shadow->finding(shadow);
    return also ? also : got;
}

Test(shadow, holds_a_call_to_its_tensors)
{
    struct hc_call call = sum();
    cr_expect_str_empty(in_call(&call, adds, 8));
    cr_expect(
        strstr(in_call(&call, adds, 7), "out + 28 (of 32 bytes) of the call: is not written"));
    cr_expect(strstr(in_call(&call, adds, 9), "out + 32 (of 32 bytes): beside all"));
    cr_expect(strstr(in_call(&call, writes_an_input, 1), "y + 0 (of 32 bytes): an input"));
    cr_expect(strstr(in_call(&call, reads_behind_the_inputs, 1), "reads 4 bytes at out + 32"));
    cr_expect(strstr(in_call(&call, reads_its_output, 1), "which nobody has written"));
    call.in[HC_Y] = call.out[HC_OUT];
    cr_expect_str_empty(in_call(&call, reads_its_output, 1), "in place");
}

Test(shadow, holds_a_library_to_the_call_s_tensors)
{
    struct hc_call call = sum();
    hc_shadow_begin(shadow, &call, 0);
    shadow->library(shadow, memory, 64 + 32, false);
    cr_expect_not_null(shadow->finding(shadow), "more than one tensor");
    shadow->library(shadow, memory + 64, 32, false);
    cr_expect(strstr(shadow->finding(shadow), "which nobody has written"));
    shadow->library(shadow, memory + 64, 32, true);
    shadow->library(shadow, memory + 64, 32, false);
    hc_shadow_end(shadow, false);
    cr_expect_null(shadow->finding(shadow));
}

static void bytes(const void *args)
{
    const struct arguments *a = args;
    ((unsigned char *)a->to)[hc_block() * hc_threads() + hc_thread()] = 1;
}

static void all_read(const void *args)
{
    const struct arguments *a = args;
    unsigned *own = a->to + 8 + hc_block() * hc_threads() + hc_thread();
    *own = a->to[0] + a->to[1];
}

static void all_count(const void *args)
{
    const struct arguments *a = args;
    (void)hc_atomic_add(a->to, 1);
}

Test(shadow, counts_each_byte_once_a_launch)
{
    static const struct {
        void (*entry)(const void *);
        int blocks, threads;
        int64_t read, written;
    } rows[] = {{bytes, 2, 4, 0, 8}, {all_read, 2, 4, 8, 32}, {all_count, 2, 8, 4, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hc_shadow_counts_reset();
        cr_assert_str_empty(run(rows[i].entry, rows[i].blocks, rows[i].threads));
        cr_assert_str_empty(run(rows[i].entry, rows[i].blocks, rows[i].threads));
        const struct hc_shadow_count *count = &hc_shadow_counts()[HC_DEVICE_KERNEL_COUNT];
        cr_expect_eq(count->launches, 2);
        cr_expect_eq(count->read, 2 * rows[i].read, "%zu: %lld", i, (long long)count->read);
        cr_expect_eq(count->written, 2 * rows[i].written);
    }
}
