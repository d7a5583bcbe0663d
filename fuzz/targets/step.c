/* A step file, which judge reads. */
#include "cli/judge_step/step.h"

#include "fuzz.h"

static void fuzz_step(const uint8_t *data, size_t size)
{
    struct hc_step step;
    const char *path = hc_fuzz_file(data, size);
    if (!path)
        return;
    if (hc_step_open(&step, path) == HC_OK) {
        (void)hc_step_recipe(&step);
        (void)hc_step_activation(&step, 1);
        (void)hc_step_parameter(&step, 0, "weights.");
        (void)hc_step_scalar(&step, "scale", 1);
    }
    hc_step_close(&step);
}

const struct hc_fuzz_target hc_fuzz_step = {"step", fuzz_step};
