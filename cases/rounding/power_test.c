/* The rounding cases can catch what they should: each planted defect of the conversions is caught
   by the cases that its row names, at level quick and at level standard, and nothing is caught when
   none is planted. */
#include <criterion/criterion.h>
#include <string.h>

#include "cases/registry.h"
#include "check/selftest/fault.h"
#include "check/runner.h"

static bool count_failures(const struct hc_result *result, void *context)
{
    int *failures = context;
    *failures += result->verdict == HC_FAIL;
    cr_assert(result->verdict == HC_FAIL || result->verdict == HC_PASS);
    return true;
}

static int failures(const struct hc_backend *backend, const char *pattern, enum hc_level level)
{
    int count = 0;
    struct hc_run_options options = {.patterns = &pattern,
                                     .pattern_count = 1,
                                     .backends = &backend,
                                     .backend_count = 1,
                                     .level = level,
                                     .seed = 1,
                                     .report = count_failures,
                                     .context = &count};
    options.cases = hc_all_cases(&options.case_count);
    cr_assert_eq(hc_run_cases(&options), HC_OK);
    return count;
}

Test(power, every_planted_conversion_defect_is_caught)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    int planted = 0;
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        if (fault->place != HC_PLACE_EXACT || strchr(fault->patterns, ' ') ||
            !strstr(fault->patterns, "-to-fp16/nearest"))
            continue;
        for (int level = HC_QUICK; level <= HC_STANDARD; level++) {
            const char *pattern = fault->patterns;
            cr_assert_eq(failures(exact, pattern, (enum hc_level)level), 0);
            const struct hc_backend *faulty = hc_faulty_backend(exact, fault);
            cr_assert(failures(faulty, pattern, (enum hc_level)level) > 0, "%s", fault->name);
        }
        planted++;
    }
    cr_assert_eq(planted, 11);
}

static const struct hc_fault *on_device;
static hc_kernel *sound_cast;

static enum hc_status cast_on_device(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_fault_site sound = {sound_cast, on_device, queue};
    return hc_fault_run(&sound, call);
}

/* The same on the emulated device. Its memory is the host's, so defects can be planted there. (What
   its judge finds by itself is tested in check/sweep/sweep_judged_test.c.) */
Test(power, every_planted_conversion_defect_is_caught_on_the_emulated_device)
{
    struct hc_backend emulated = *hc_backend_by_name("cuda-emulated");
    int planted = 0;
    sound_cast = emulated.kernel[HC_OP_cast];
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        if (fault->place != HC_PLACE_EXACT || strchr(fault->patterns, ' ') ||
            !strstr(fault->patterns, "-to-fp16/nearest"))
            continue;
        on_device = fault;
        emulated.kernel[HC_OP_cast] = sound_cast;
        cr_assert_eq(failures(&emulated, fault->patterns, HC_QUICK), 0);
        emulated.kernel[HC_OP_cast] = cast_on_device;
        cr_assert(failures(&emulated, fault->patterns, HC_QUICK) > 0, "%s", fault->name);
        planted++;
    }
    cr_assert_eq(planted, 11);
}

/* Changes one place in one row of results of one operation. */
static enum hc_status off_by_one(const struct hc_fault_site *planted, const struct hc_call *call)
{
    enum hc_status status = hc_right(planted, call);
    const uint16_t *x = call->in[HC_X].data;
    uint16_t *out = call->out[HC_OUT].data;
    int64_t n = hc_tensor_count(&call->out[HC_OUT]);
    for (int64_t i = 0; status == HC_OK && i < n; i++)
        if (x[i] == 0x3bff && out[i] == 0x3c00)
            out[i]++;
    return status;
}

Test(power, one_wrong_result_in_a_row_of_an_operation_is_caught)
{
    static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub, HC_OP_mul,
                                     HC_OP_div, HC_OP_fma, HC_OP_sqrt};
    const struct hc_backend *exact = hc_backend_by_name("exact");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        char pattern[64];
        struct hc_fault fault = {
            .name = "off-by-one", .ops = hc_ops[ops[i]].name, .wrong = off_by_one};
        (void)snprintf(pattern, sizeof pattern, "rounding/fp16/%s", hc_ops[ops[i]].name);
        int want = ops[i] != HC_OP_sqrt; /* the root of 0x3bff is 0x3bff */
        cr_assert_eq(failures(hc_faulty_backend(exact, &fault), pattern, HC_QUICK), want, "%s",
                     pattern);
    }
}

/* Rounds 2049, a tie, up. */
static enum hc_status integer_tie_up(const struct hc_fault_site *planted,
                                     const struct hc_call *call)
{
    enum hc_status status = hc_right(planted, call);
    uint16_t *out = call->out[HC_OUT].data;
    const int32_t *x = call->in[HC_X].data;
    bool integers = call->in[HC_X].format == HC_I32;
    for (int64_t i = 0; status == HC_OK && integers && i < hc_tensor_count(&call->out[HC_OUT]); i++)
        out[i] = (uint16_t)(out[i] + (x[i] == 2049));
    return status;
}

Test(power, one_wrong_integer_is_caught)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_fault fault = {.name = "2049", .ops = "cast", .wrong = integer_tie_up};
    const struct hc_backend *faulty = hc_faulty_backend(exact, &fault);
    cr_assert_eq(failures(exact, "rounding/i32-to-fp16/*", HC_QUICK), 0);
    cr_assert_eq(failures(faulty, "rounding/i32-to-fp16/*", HC_QUICK), 4);
}
