/* Whether the sweeps over conversions find faults: each fault of `cast` is planted into `exact`,
   and one of the sweeps must fail on it. */
#include <string.h>

#include "check/check_inner.h"
#include "check/selftest/fault.h"
#include "check/sweep/sweep.h"

/* Runs the sweep in a check of its own on that backend. */
static struct hc_result try(const struct hc_check *check, const struct hc_backend *backend,
                            void (*sweep)(struct hc_check *, enum hc_format, enum hc_direction))
{
    struct hc_check inner = {.what = check->what,
                             .backend = backend,
                             .queue = check->exact_queue,
                             .exact = check->exact,
                             .exact_queue = check->exact_queue,
                             .seed = check->seed,
                             .level = HC_QUICK};
    sweep(&inner, HC_FP16, HC_NEAREST);
    hc_check_end(&inner);
    return inner.result;
}

void hc_claim_sweeps_catch_faults(struct hc_check *check)
{
    const struct hc_backend *sound = hc_backend_by_name("exact");
    hc_claim_true(check, "the sound conversion passes",
                  try(check, sound, hc_sweep_from_fp32).verdict == HC_PASS &&
                      try(check, sound, hc_sweep_from_fp64).verdict == HC_PASS);
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        if (!strstr(fault->patterns, "-to-fp16/nearest"))
            continue;
        const struct hc_backend *faulty = hc_fault_within_case(fault);
        struct hc_result result = try(check, faulty, hc_sweep_from_fp32);
        if (result.verdict != HC_FAIL)
            result = try(check, faulty, hc_sweep_from_fp64);
        hc_claim_true(check, fault->title, result.verdict == HC_FAIL);
        hc_say(check, "%.77s", result.note);
    }
}
