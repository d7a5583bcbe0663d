/* The power of the conversion sweeps: what they find in an exact backend that has been broken. */
#include <string.h>

#include "check/selftest/fault.h"
#include "check/sweep/sweep.h"
#include "check/check_inner.h"

static const struct hc_fault *planted;
static struct hc_backend broken;

static enum hc_status cast(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_fault_site sound = {hc_backend_by_name("exact")->kernel[HC_OP_cast], planted};
    return hc_fault_run(&sound, queue, call);
}

/* A check of its own on the broken backend, with that sweep. */
static struct hc_result try(const struct hc_check *check,
                            void (*sweep)(struct hc_check *, enum hc_format, enum hc_direction))
{
    struct hc_check inner = {.what = check->what,
                             .backend = &broken,
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
    broken = *hc_backend_by_name("exact");
    hc_claim_true(check, "the sound conversion passes",
                  try(check, hc_sweep_from_fp32).verdict == HC_PASS &&
                      try(check, hc_sweep_from_fp64).verdict == HC_PASS);
    broken.kernel[HC_OP_cast] = cast;
    for (int i = 0; i < hc_fault_count(); i++) {
        planted = hc_fault_at(i);
        if (!strstr(planted->patterns, "-to-fp16/nearest"))
            continue;
        struct hc_result result = try(check, hc_sweep_from_fp32);
        if (result.verdict != HC_FAIL)
            result = try(check, hc_sweep_from_fp64);
        hc_claim_true(check, planted->title, result.verdict == HC_FAIL);
        hc_say(check, "    %s", result.note);
    }
}
