/* Faults in what the kernels get from the emulation: the generated cases of their ops fail, or the
   emulation ends the program. (shadow/mutants_test.c has barriers and accesses to memory.) */
#include "kernels/cuda/emulate/fault.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/generate/cases.h"
#include "check/runner.h"

struct tally {
    int passed;
    int failed;
    bool beside; /* a note says that the kernel wrote beside its scratch */
};

static bool report(const struct hc_result *result, void *context)
{
    struct tally *tally = context;
    tally->passed += result->verdict == HC_PASS;
    tally->failed += result->verdict == HC_FAIL;
    tally->beside |= strstr(result->note, "sum wrote behind scratch") != NULL;
    return result->verdict != HC_FAIL;
}

/* Runs the cases of the pattern on cuda-emulated, up to the first that fails. */
static struct tally run(const char *pattern)
{
    const struct hc_case_table *tables[] = {hc_op_cases(), hc_border_cases()};
    int count = 0;
    const struct hc_case **all =
        malloc((size_t)(tables[0]->count + tables[1]->count) * sizeof(struct hc_case *));
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < tables[t]->count; i++)
            all[count++] = &tables[t]->cases[i];
    const struct hc_backend *chosen = hc_backend_by_name("cuda-emulated");
    struct tally tally = {0};
    struct hc_run_options options = {.cases = all,
                                     .case_count = count,
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

static const struct {
    const char *pattern;
    struct hc_emulated_fault fault;
} indices[] = {
    {"op/sum/fp32*", {HC_WRONG_SHUFFLE, "partial_sums", 0}},
    {"op/sum/fp32*", {HC_WRONG_BLOCKS, "partial_sums", 0}},
    {"op/xent/fp32*", {HC_WRONG_SHUFFLE, "row_losses", 0}},
    {"op/xent/fp32*", {HC_WRONG_BLOCK, "row_losses", 0}},
    {"op/xent_bwd/fp32*", {HC_WRONG_THREAD, "xent_bwd", 0}},
    {"op/bn_train/fp32*", {HC_WRONG_BLOCK, "bn_moments", 0}},
    {"op/bn_infer/fp32*", {HC_WRONG_THREAD, "bn_normalize", 0}},
    {"border/bn_bwd/fp32/elements", {HC_WRONG_THREAD, "bn_bwd", 0}},
    {"op/cast/fp32-fp16*", {HC_WRONG_THREAD, "cast", 0}},
    {"op/cast/fp32-fp16*", {HC_WRONG_BLOCK, "cast", 0}},
    {"op/add/*", {HC_WRONG_THREAD, "elementwise", 0}},
    {"op/axpy/*", {HC_WRONG_THREAD, "elementwise", 0}},
    {"op/scale/*", {HC_WRONG_THREAD, "elementwise", 0}},
    {"op/unscale/*", {HC_WRONG_THREAD, "unscale", 0}},
    {"op/bn_bwd/fp32*", {HC_WRONG_BLOCK, "bn_bwd_sums", 0}},
    {"op/leaky_relu/*", {HC_WRONG_THREAD, "elementwise", 0}},
    {"op/leaky_relu_bwd/*", {HC_WRONG_THREAD, "elementwise", 0}},
    {"op/avg_pool/*", {HC_WRONG_THREAD, "avg_pool", 0}},
    {"op/avg_pool_bwd/*", {HC_WRONG_THREAD, "avg_pool_bwd", 0}},
    {"op/im2col/*", {HC_WRONG_THREAD, "im2col", 0}},
    {"op/col2im/*", {HC_WRONG_THREAD, "col2im", 0}},
    {"op/gemm/*", {HC_WRONG_THREAD, "broadcast", 0}},
    {"op/sgd/*", {HC_WRONG_BLOCK, "optimizer", 0}},
    {"op/adam/*", {HC_WRONG_BLOCK, "optimizer", 0}},
};

Test(cuda_fault, without_a_defect_the_cases_pass)
{
    static const char *const patterns[] = {"op/sum/fp32*", "op/xent/fp32*", "op/bn_train/fp32*"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct tally tally = run(patterns[i]);
        cr_expect_gt(tally.passed, 0, "%s", patterns[i]);
        cr_expect_eq(tally.failed, 0, "%s", patterns[i]);
    }
}

/* Whether a case of the pattern fails with the fault, or the emulation ends the process. */
static bool found(const char *pattern, const struct hc_emulated_fault *fault)
{
    int how;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        hc_emulated_fault_set(fault);
        _exit(run(pattern).failed > 0);
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) == 1 : WTERMSIG(how) == SIGABRT;
}

Test(cuda_fault, a_wrong_index_is_found)
{
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++)
        cr_expect(found(indices[i].pattern, &indices[i].fault), "%s, kind %d",
                  indices[i].fault.kernel, indices[i].fault.kind);
}

Test(cuda_fault, a_defect_in_a_kernel_that_does_not_run_is_not_found)
{
    cr_expect(!found("op/sum/fp32*", &(struct hc_emulated_fault){HC_WRONG_THREAD, "no_such", 0}));
}

Test(cuda_fault, a_write_beside_the_partial_sums_is_named)
{
    hc_emulated_fault_set(&(struct hc_emulated_fault){HC_WRONG_BLOCK, "partial_sums", 0});
    cr_expect(run("op/sum/*").beside);
}
