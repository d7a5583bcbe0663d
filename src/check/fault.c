#include "check/fault.h"

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
    faulty = *sound;
    planted = fault;
    right = sound->kernel[fault->op];
    faulty.kernel[fault->op] = wrong;
    return &faulty;
}
