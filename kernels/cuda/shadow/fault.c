#include "kernels/cuda/shadow/fault.h"

enum { SITES = 4096 };

static struct {
    const void *from;
    enum hc_access kind;
} sites[SITES];
static int count;

int hc_shadow_fault_sites(void)
{
    return count;
}

enum hc_access hc_shadow_fault_kind(int site)
{
    return sites[site].kind;
}

void hc_shadow_fault_reset(void)
{
    count = 0;
}

static bool is_site(const struct hc_emulated_fault *fault, const void *from, enum hc_access kind)
{
    int i = 0;
    while (i < count && sites[i].from != from)
        i++;
    if (i == count && i < SITES) {
        sites[i].from = from;
        sites[i].kind = kind;
        count++;
    }
    return i == fault->site;
}

bool hc_shadow_fault_changes(const struct hc_emulated_fault *fault, uintptr_t *at, size_t bytes,
                             enum hc_access kind, const void *from)
{
    if (!is_site(fault, from, kind))
        return false;
    if (fault->kind == HC_FAR_ACCESS && kind != HC_FENCE)
        *at += bytes;
    if (fault->kind == HC_LOST_FENCE)
        return kind == HC_FENCE;
    return fault->kind == HC_LOST_WRITE && kind == HC_ACCESS_WRITE;
}
