#include "kernels/cuda/emulate/fault.h"

#include <string.h>

#include "kernels/cuda/emulate/inner.h"

static struct hc_emulated_fault current;

enum { SITES = 16 };

static struct hc_site sites[SITES];
static int site_count;

void hc_emulated_fault_set(const struct hc_emulated_fault *fault)
{
    current = *fault;
    site_count = 0;
}

int hc_emulated_fault_sites(void)
{
    return site_count;
}

const char *hc_emulated_fault_line(int site, int *line)
{
    *line = sites[site].line;
    return sites[site].file;
}

static bool is_faulty(const char *kernel)
{
    return current.kernel && strcmp(current.kernel, kernel) == 0;
}

const struct hc_emulated_fault *hc_emulated_fault_of(const char *kernel)
{
    return is_faulty(kernel) ? &current : NULL;
}

bool hc_emulated_fault_is(const char *kernel, enum hc_emulated_fault_kind kind)
{
    return current.kind == kind && is_faulty(kernel);
}

bool hc_emulated_fault_skips(const char *kernel, struct hc_site site)
{
    int at = 0;
    if (!is_faulty(kernel))
        return false;
    while (at < site_count && !hc_same_site(sites[at], site))
        at++;
    if (at == site_count && site_count < SITES)
        sites[site_count++] = site;
    return current.kind == HC_NO_BARRIER && at == current.site;
}
