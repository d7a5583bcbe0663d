/* The generated cases of batch norm on cuDNN's stand-in, as the backend cuda-cudnn runs them. Then
   an argument is altered on its way to cuDNN: cases must fail. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "check/generate/cases.h"
#include "check/runner.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/dnn_norm.h"
#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/library/handles.h"

static struct hc_library altered;

static enum hc_status open_altered(const struct hc_backend *backend, struct hc_queue **queue,
                                   int threads)
{
    enum hc_status status = hc_backend_by_name("cuda-emulated")->open(backend, queue, threads);
    if (status == HC_OK)
        (*queue)->libraries->library = &altered;
    return status;
}

struct tally {
    int passed;
    int failed;
};

static bool report(const struct hc_result *result, void *context)
{
    struct tally *tally = context;
    tally->passed += result->verdict == HC_PASS;
    tally->failed += result->verdict != HC_PASS;
    return true;
}

static struct tally run(void)
{
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **all = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    struct hc_backend backend = *hc_backend_by_name("cuda-emulated");
    for (int op = 0; op < HC_OP_COUNT; op++)
        backend.kernel[op] = NULL;
    backend.open = open_altered;
    backend.scratch = NULL;
    backend.kernel[HC_OP_bn_train] = hc_cudnn_bn_train;
    backend.kernel[HC_OP_bn_infer] = hc_cudnn_bn_infer;
    backend.kernel[HC_OP_bn_bwd] = hc_cudnn_bn_bwd;
    const struct hc_backend *chosen = &backend;
    const char *pattern = "op/bn_*";
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

static void begin(void)
{
    altered = hc_library_emulated;
}

TestSuite(cuda_dnn_norm, .init = begin);

Test(cuda_dnn_norm, the_generated_cases_pass)
{
    struct tally tally = run();
    cr_assert_gt(tally.passed, 80, "%d", tally.passed);
    cr_assert_eq(tally.failed, 0);
}

static enum {

    FACTOR,
    EPSILON,
    ADDS,
    SWAPPED,
} alteration;

static int set_tensor(void *tensor, int type, int n, int c, int h, int w, int n_stride,
                      int c_stride, int h_stride, int w_stride)
{
    (void)c_stride;
    (void)h_stride;
    (void)w_stride;
    return hc_dnn_set_tensor(tensor, type, n, c, h, w, n_stride, h * w, w, 1);
}

static int norm_train(void *handle, int mode, const void *alpha, const void *beta, void *x_tensor,
                      const void *x, void *y_tensor, void *y, void *parameters, const void *gamma,
                      const void *bias, double factor, void *running_mean, void *running_variance,
                      double epsilon, void *saved_mean, void *saved_invstd)
{
    return hc_dnn_norm_train(
        handle, mode, alpha, alteration == ADDS ? alpha : beta, x_tensor, x, y_tensor, y,
        parameters, gamma, bias, alteration == FACTOR ? 1 - factor : factor,
        alteration == SWAPPED ? running_variance : running_mean,
        alteration == SWAPPED ? running_mean : running_variance,
        alteration == EPSILON ? 2 * epsilon : epsilon, saved_mean, saved_invstd);
}

static int train_altered(int which)
{
    alteration = which;
    altered.cudnn_norm_train = norm_train;
    return run().failed;
}

Test(cuda_dnn_norm, another_layout_fails_cases)
{
    altered.cudnn_set_tensor = set_tensor;
    cr_assert_gt(run().failed, 0);
}

Test(cuda_dnn_norm, momentum_taken_for_what_is_kept_fails_cases)
{
    cr_assert_gt(train_altered(FACTOR), 0);
}

Test(cuda_dnn_norm, another_epsilon_fails_cases)
{
    cr_assert_gt(train_altered(EPSILON), 0);
}

Test(cuda_dnn_norm, adding_to_what_was_there_fails_cases)
{
    cr_assert_gt(train_altered(ADDS), 0);
}

Test(cuda_dnn_norm, swapped_running_statistics_fail_cases)
{
    cr_assert_gt(train_altered(SWAPPED), 0);
}

static int refuses(void *parameters, void *x, int mode)
{
    (void)parameters;
    (void)x;
    (void)mode;
    return HC_DNN_NOT_SUPPORTED;
}

Test(cuda_dnn_norm, what_cudnn_does_not_support_is_left_out)
{
    altered.cudnn_derive_norm = refuses;
    struct tally tally = run();
    cr_assert_eq(tally.failed, 0);
}
