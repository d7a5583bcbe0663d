#include "check/selftest/fault.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

const struct hc_fault_class_info hc_fault_classes[HC_FAULT_CLASSES] = {
    [HC_FAULT_ROUNDING] = {"rounding", "a result is rounded otherwise than the contract says"},
    [HC_FAULT_SPECIALS] = {"specials",
                           "a NaN, an infinity, a zero or a subnormal is treated wrongly"},
    [HC_FAULT_TAIL] = {"tail", "the last elements of a vector are forgotten or treated otherwise"},
    [HC_FAULT_BORDER] = {"border", "elements past the border of a block are wrong"},
    [HC_FAULT_SPARSE] = {"sparse", "a few elements in odd places are wrong"},
    [HC_FAULT_ACCUMULATOR] = {"accumulator", "a sum is taken with less than its contract asks for"},
    [HC_FAULT_UNIT] = {"unit", "a matrix unit sums otherwise than its rule says"},
    [HC_FAULT_FORMULA] = {"formula", "a term of the formula is missing, misplaced or added"},
    [HC_FAULT_PARAMETER] = {"parameter", "a parameter or an operand is ignored or changed"},
    [HC_FAULT_IN_PLACE] = {"in-place", "a call whose output is one of its inputs goes wrong"},
    [HC_FAULT_INPUTS] = {"inputs", "the call changes its inputs"},
    [HC_FAULT_OUTSIDE] = {"outside", "the call writes outside its outputs"},
    [HC_FAULT_STATE] = {"state",
                        "a result depends on the calls before it or on what lay in memory"},
    [HC_FAULT_COMMON] = {"common",
                         "the subject and the backend it is compared with are wrong alike"},
    [HC_FAULT_STOCHASTIC] = {"stochastic", "stochastic rounding or a compensation is wrong"},
    [HC_FAULT_SCALER] = {"scaler", "the loss scale follows another rule"},
    [HC_FAULT_SKIP] = {"skip", "a step that overflowed leaves a trace, or is not seen"},
    [HC_FAULT_DATA] = {"data", "images, labels or their order are wrong"},
    [HC_FAULT_TRAINER] = {"trainer", "the training loop hands its ops something else"},
    [HC_FAULT_RANKS] = {"ranks", "a rank hears, holds or counts something else than the others"},
    [HC_FAULT_CHEAT] = {"cheat", "the backend only looks as if it did the work"},
};

const char *const hc_fault_places[HC_PLACES] = {"exact", "host", "both"};

bool hc_fault_glob(const char *globs, int i, char glob[HC_GLOB])
{
    for (; globs && i > 0; i--) {
        globs = strchr(globs, ' ');
        globs += globs ? 1 : 0;
    }
    if (!globs)
        return false;
    size_t length = strcspn(globs, " ");
    assert(length < HC_GLOB);
    (void)snprintf(glob, HC_GLOB, "%.*s", (int)length, globs);
    return true;
}

const char *hc_fault_home(const struct hc_fault *fault)
{
    return fault->backend ? fault->backend : fault->place == HC_PLACE_EXACT ? "exact" : "host";
}

bool hc_fault_concerns(const struct hc_fault *fault, enum hc_op op)
{
    char glob[HC_GLOB];
    bool any = fault->wrong || fault->after || fault->after_by || fault->change ||
               fault->change_by || fault->parameter || fault->inputs || fault->outputs ||
               fault->like;
    for (int i = 0; any && hc_fault_glob(fault->ops, i, glob); i++)
        if (fnmatch(glob, hc_ops[op].name, 0) == 0)
            return true;
    return false;
}

/* A backend with a fault in it. */
struct faulty {
    struct hc_backend backend;
    const struct hc_backend *sound;
    const struct hc_fault *fault;
    char name[64];
};

/* What the wrong kernels below show. It is static because hc_kernel has no argument that a fault
   could come in by: one kernel function for each place, and one fault in it at a time. */
enum place { SUBJECT, EXACT, WITHIN_CASE, PLACES };
static struct faulty planted[PLACES];

static enum hc_status run_wrong(enum place place, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct faulty *p = &planted[place];
    struct hc_fault_site site = {p->sound->kernel[call->op], p->fault, queue};
    return hc_fault_run(&site, call);
}

static enum hc_status run_subject(struct hc_queue *queue, const struct hc_call *call)
{
    return run_wrong(SUBJECT, queue, call);
}

static enum hc_status run_exact(struct hc_queue *queue, const struct hc_call *call)
{
    return run_wrong(EXACT, queue, call);
}

static enum hc_status run_within_case(struct hc_queue *queue, const struct hc_call *call)
{
    return run_wrong(WITHIN_CASE, queue, call);
}

static const struct hc_backend *plant(enum place place, const struct hc_backend *sound,
                                      const struct hc_fault *fault)
{
    static hc_kernel *const kernels[PLACES] = {run_subject, run_exact, run_within_case};
    struct faulty *p = &planted[place];
    assert(sound->host_memory);
    *p = (struct faulty){.backend = *sound, .sound = sound, .fault = fault};
    (void)snprintf(p->name, sizeof p->name, "%s+%s", sound->name, fault->name);
    p->backend.name = p->name;
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (sound->kernel[op] && hc_fault_concerns(fault, (enum hc_op)op))
            p->backend.kernel[op] = kernels[place];
    if (fault->rebuild)
        fault->rebuild(&p->backend);
    return &p->backend;
}

const struct hc_backend *hc_faulty_backend(const struct hc_backend *sound,
                                           const struct hc_fault *fault)
{
    return plant(SUBJECT, sound, fault);
}

const struct hc_backend *hc_fault_within_case(const struct hc_fault *fault)
{
    return plant(WITHIN_CASE, hc_backend_by_name("exact"), fault);
}

struct hc_fault_backends hc_fault_plant(const struct hc_fault *fault)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_fault_backends backends = {.exact = exact};
    backends.subject = plant(SUBJECT, hc_backend_by_name(hc_fault_home(fault)), fault);
    if (fault->place == HC_PLACE_BOTH)
        backends.exact = plant(EXACT, exact, fault);
    return backends;
}
