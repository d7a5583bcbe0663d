#include "check/fault.h"

#include <assert.h>
#include <stdio.h>

static struct hc_backend faulty;
static hc_kernel *right;
static const struct hc_fault *planted;

static enum hc_status wrong(struct hc_queue *queue, const struct hc_call *call)
{
    return planted->wrong(right, queue, call);
}

const struct hc_backend *hc_faulty_backend(const struct hc_backend *sound,
                                           const struct hc_fault *fault)
{
    static char name[64];
    assert(sound->host_memory && sound->kernel[fault->op]);
    faulty = *sound;
    (void)snprintf(name, sizeof name, "%s+%s", sound->name, fault->name);
    faulty.name = name;
    planted = fault;
    right = sound->kernel[fault->op];
    faulty.kernel[fault->op] = wrong;
    return &faulty;
}
