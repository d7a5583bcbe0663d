/* Faults planted in the text of reduce.c and reduce_kernels.c, emulated: the generated cases of sum
   fail, or the emulation ends the program. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

#include "check/opcase.h"
#include "check/runner.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/launch.h"

static enum { SOUND, NO_BARRIER, WRONG_TREE, WRONG_STRIDE, WRONG_TARGET } planted;

static inline void maybe_sync(void)
{
    if (planted != NO_BARRIER)
        hc_sync();
}

/* The last of the five steps reaches too far. */
static inline float maybe_shuffle(float x, int delta)
{
    return hc_shuffle_down(x, planted == WRONG_TREE && delta == 1 ? 2 : delta);
}

static inline int maybe_blocks(void)
{
    return hc_blocks() + (planted == WRONG_STRIDE ? 1 : 0);
}

static inline int maybe_block(void)
{
    return hc_block() + (planted == WRONG_TARGET ? 1 : 0);
}

static enum hc_status planted_launch(struct hc_queue *queue, enum hc_device_kernel which,
                                     int blocks, int threads, size_t shared, const void *args,
                                     size_t args_size);

#define hc_sync                  maybe_sync
#define hc_shuffle_down          maybe_shuffle
#define hc_blocks                maybe_blocks
#define hc_block                 maybe_block
#define hc_launch                planted_launch
#define hc_cuda_sum              planted_sum
#define hc_cuda_dot              planted_dot
#define hc_cuda_whole_sum        planted_whole_sum
#define hc_cuda_reduce_scratch   planted_reduce_scratch
#define hc_dk_partial_sums_entry planted_partial_sums_entry
#define hc_dk_partial_sums_size  planted_partial_sums_size
#define hc_dk_whole_sum_entry    planted_whole_sum_entry
#define hc_dk_whole_sum_size     planted_whole_sum_size
#define hc_dk_sum_in_order_entry planted_sum_in_order_entry
#define hc_dk_sum_in_order_size  planted_sum_in_order_size
#include "kernels/cuda/reduce.c"
#include "kernels/cuda/reduce_kernels.c"

static enum hc_status planted_launch(struct hc_queue *queue, enum hc_device_kernel which,
                                     int blocks, int threads, size_t shared, const void *args,
                                     size_t args_size)
{
    (void)args_size;
    struct hc_grid grid = {"planted", planted_partial_sums_entry, blocks, threads, shared};
    if (which == HC_DK_whole_sum)
        grid.entry = planted_whole_sum_entry;
    else if (which == HC_DK_sum_in_order)
        grid.entry = planted_sum_in_order_entry;
    if (blocks > 0)
        hc_emulate(hc_stream_emulator(queue->stream), &grid, args);
    return HC_OK;
}

struct tally {
    int passed;
    int failed;
};

static bool report(const struct hc_result *result, void *context)
{
    struct tally *tally = context;
    tally->passed += result->verdict == HC_PASS;
    tally->failed += result->verdict == HC_FAIL;
    return true;
}

/* The cases of sum on cuda-emulated with the sum above. */
static struct tally run(void)
{
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **all = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    struct hc_backend backend = *hc_backend_by_name("cuda-emulated");
    backend.kernel[HC_OP_sum] = planted_sum;
    const struct hc_backend *chosen = &backend;
    const char *pattern = "op/sum/*";
    struct tally tally = {0};
    struct hc_run_options options = {.cases = all,
                                     .case_count = table->count,
                                     .patterns = &pattern,
                                     .pattern_count = 1,
                                     .backends = &chosen,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = report,
                                     .context = &tally};
    cr_assert_eq(hc_run_cases(&options), HC_OK);
    free(all);
    return tally;
}

Test(cuda_planted, without_a_fault_the_cases_of_sum_pass)
{
    struct tally tally = run();
    cr_assert_gt(tally.passed, 0);
    cr_assert_eq(tally.failed, 0);
}

Test(cuda_planted, a_missing_barrier_fails_cases)
{
    planted = NO_BARRIER;
    cr_assert_gt(run().failed, 0);
}

Test(cuda_planted, a_wrong_step_of_the_reduction_fails_cases)
{
    planted = WRONG_TREE;
    cr_assert_gt(run().failed, 0);
}

Test(cuda_planted, a_stride_that_skips_elements_fails_cases)
{
    planted = WRONG_STRIDE;
    cr_assert_gt(run().failed, 0);
}

Test(cuda_planted, a_write_beside_the_partial_sums_ends_the_program, .signal = SIGABRT)
{
    planted = WRONG_TARGET;
    (void)run();
}
