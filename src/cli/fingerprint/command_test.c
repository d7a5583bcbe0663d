/* When run --fingerprint is asked for. */
#include "cli/run/fingerprints.h"

#include <criterion/criterion.h>

Test(fingerprint, begins_every_run_on_a_device)
{
    struct hc_run_settings none = {.fingerprint = false};
    struct hc_run_settings asks = {.fingerprint = true};
    struct hc_backend device = *hc_backend_by_name("exact");
    cr_expect(!hc_run_wants_fingerprint(&none, &device));
    cr_expect(hc_run_wants_fingerprint(&asks, &device));
    device.host_memory = false;
    cr_expect(hc_run_wants_fingerprint(&none, &device));
    device.kernel[HC_OP_gemm] = NULL;
    cr_expect(!hc_run_wants_fingerprint(&asks, &device));
}
