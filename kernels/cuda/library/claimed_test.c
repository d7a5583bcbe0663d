/* The matrix unit that a probe finds in cuBLAS's products, held against the one that is stated for
   the device (accumulator.c): a device whose unit is a coarser one than bounds assume must not
   pass. */
#include "kernels/cuda/library/accumulator.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "check/fingerprint/fingerprint.h"
#include "check/fingerprint/use.h"
#include "check/generate/cases.h"
#include "check/runner.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/emulate/sum.h"
#include "kernels/cuda/library/handles.h"
#include "kernels/element/load.h"

/* The unit that is in the place of the emulation's. */
static struct hc_sum_rule planted;

static float load(int type, const void *data, int64_t i)
{
    return hc_load(type == HC_BLAS_FP16 ? HC_FP16 : HC_FP32, data, i);
}

/* A product without transposed factors, as the probes and the generated case are. */
static int planted_gemm(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                        const void *alpha, const void *a, int a_type, int lda, const void *b,
                        int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                        int compute, int algorithm)
{
    (void)handle;
    (void)compute;
    (void)algorithm;
    if (transpose_a || transpose_b)
        return HC_BLAS_NOT_SUPPORTED;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            struct hc_sum sum;
            hc_sum_begin(&sum, &planted);
            for (int64_t t = 0; t < k; t++)
                hc_sum_add(&sum, load(a_type, a, i + t * lda), load(b_type, b, t + j * ldb));
            float value = hc_sum_end(&sum) * *(const float *)alpha;
            if (*(const float *)beta != 0)
                value += load(c_type, c, i + j * ldc);
            hc_store(c_type == HC_BLAS_FP16 ? HC_FP16 : HC_FP32, c, i + j * ldc, value);
        }
    return 0;
}

static struct hc_library library;

static enum hc_status open_planted(const struct hc_backend *backend, struct hc_queue **queue,
                                   int threads)
{
    enum hc_status status = hc_backend_by_name("cuda-emulated")->open(backend, queue, threads);
    library = hc_library_emulated;
    library.cublas_gemm_ex = planted_gemm;
    if (status == HC_OK)
        (*queue)->libraries->library = &library;
    return status;
}

/* Units as published, and the capability of the devices that have them, from coarse to fine. */
static const struct {
    int major, minor;
    const char *unit;
} devices[] = {
    {7, 0, "v100-fp16-fp32"},
    {8, 0, "a100-fp16-fp32"},
    {9, 0, "h100wgmma-fp16-fp32"},
};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static enum hc_verdict verdict;
static char note[512];

static bool keep(const struct hc_result *result, void *context)
{
    (void)context;
    verdict = result->verdict;
    (void)snprintf(note, sizeof note, "%s", result->note);
    return true;
}

static void run_products(const struct hc_backend *backend)
{
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case *what = NULL;
    for (int i = 0; i < table->count && !what; i++)
        if (strcmp(table->cases[i].name, "op/gemm/fp16-fp32/13x9x33/normal") == 0)
            what = &table->cases[i];
    cr_assert_not_null(what);
    struct hc_run_options options = {.cases = &what,
                                     .case_count = 1,
                                     .backends = &backend,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = keep};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
}

/* What a run does: it probes, then it runs cases. `name` is one for each pair: what was found is
   kept by the backend's name. */
static enum hc_found_against probe_and_run(const struct hc_fingerprint *found, const char *name,
                                           int major, int minor)
{
    struct hc_backend backend = *hc_backend_by_name("cuda-emulated");
    char line[HC_FOUND_LINE];
    backend.name = name;
    backend.open = open_planted;
    backend.accumulator = hc_cuda_accumulator(major, minor);
    enum hc_found_against against = hc_fingerprint_use(&backend, found, line);
    run_products(&backend);
    return against;
}

static void expect_doubt_of_finer_ones(int have)
{
    const struct hc_backend *emulated = hc_backend_by_name("cuda-emulated");
    struct hc_fingerprint found;
    struct hc_queue *queue;
    planted = (struct hc_sum_rule){hc_unit_by_name(devices[have].unit), HC_FP32};
    cr_assert_not_null(planted.unit);
    cr_assert_eq(open_planted(emulated, &queue, 1), HC_OK);
    cr_assert_eq(hc_fingerprint(emulated, queue, HC_FP16, &found), HC_OK, "%s", hc_message());
    emulated->close(queue);
    for (int stated = 0; stated < DEVICES; stated++) {
        static char name[DEVICES][32];
        (void)snprintf(name[stated], sizeof name[stated], "cuda-%d", stated);
        enum hc_found_against against =
            probe_and_run(&found, name[stated], devices[stated].major, devices[stated].minor);
        cr_expect_eq(against, stated > have   ? HC_FOUND_COARSER
                              : stated < have ? HC_FOUND_FINER
                                              : HC_FOUND_ALIKE);
        cr_expect_eq(verdict, stated > have ? HC_MISTRUSTED : HC_PASS, "%s for %d.%d: %s",
                     devices[have].unit, devices[stated].major, devices[stated].minor, note);
        cr_expect(stated <= have ||
                      strstr(note, "gemm of fp16 sums more coarsely than bounds assume"),
                  "%s", note);
    }
}

Test(claimed, results_are_mistrusted_where_the_device_sums_like_a_v100_and_a_finer_one_is_stated)
{
    expect_doubt_of_finer_ones(0);
}

Test(claimed, results_are_mistrusted_where_the_device_sums_like_an_a100_and_a_finer_one_is_stated)
{
    expect_doubt_of_finer_ones(1);
}

Test(claimed, results_pass_where_the_device_sums_like_an_h100_and_no_finer_one_is_stated)
{
    expect_doubt_of_finer_ones(2);
}
