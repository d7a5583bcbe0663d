#include "kernels/cuda/emulate/fault.h"

#include <string.h>

#include "kernels/cuda/emulate/inner.h"

static struct hc_emulated_fault present;

enum { SITES = 16 };

static struct hc_site sites[SITES];
static int known;

void hc_emulated_fault_set(const struct hc_emulated_fault *fault)
{
    present = *fault;
    known = 0;
}

int hc_emulated_fault_sites(void)
{
    return known;
}

static bool hits(const char *kernel)
{
    return present.kernel && strcmp(present.kernel, kernel) == 0;
}

bool hc_emulated_fault_is(const char *kernel, enum hc_emulated_fault_kind kind)
{
    return present.kind == kind && hits(kernel);
}

bool hc_emulated_fault_skips(const char *kernel, struct hc_site site)
{
    int at = 0;
    if (!hits(kernel))
        return false;
    while (at < known && !hc_same_site(sites[at], site))
        at++;
    if (at == known && known < SITES)
        sites[known++] = site;
    return present.kind == HC_NO_BARRIER && at == present.site;
}
