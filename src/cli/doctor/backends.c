/* The backends: whether they can run here, and whether they do two small cases right. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cases/registry.h"
#include "check/runner.h"
#include "cli/doctor/doctor.h"
#include "plugins.h"

static const char *const tried[] = {"rounding/after-one", "op/add/fp16/257/*"};

struct trial {
    int count[HC_VERDICT_COUNT];
    int all;
};

static bool count(const struct hc_result *result, void *context)
{
    struct trial *trial = context;
    trial->count[result->verdict]++;
    trial->all++;
    return true;
}

static enum hc_status try_it(const struct hc_backend *backend, struct trial *trial)
{
    struct hc_omissions omissions = {0};
    struct hc_run_options run = {.patterns = tried,
                                 .pattern_count = (int)(sizeof tried / sizeof *tried),
                                 .backends = &backend,
                                 .backend_count = 1,
                                 .level = HC_STANDARD,
                                 .report = count,
                                 .omissions = &omissions,
                                 .context = trial};
    run.cases = hc_all_cases(&run.case_count);
    enum hc_status status = run.cases ? hc_run_cases(&run) : HC_NO_MEMORY;
    hc_omissions_free(&omissions);
    return status;
}

static int ops_of(const struct hc_backend *backend)
{
    int ops = 0;
    for (int op = 0; op < HC_OP_COUNT; op++)
        ops += backend->kernel[op] != NULL;
    return ops;
}

/* What several backends lack is told once. */
static void tell_absent(struct hc_doctor *doctor, const struct hc_backend *backend, const char *why)
{
    bool cuda = strncmp(backend->name, "cuda", 4) == 0;
    bool as_cuda = cuda && backend->name[4];
    bool driver = access("/proc/driver/nvidia/version", R_OK) == 0;
    hc_doctor_tell(doctor, HC_HEALTH_MISSING, backend->name, why,
                   as_cuda ? "as cuda"
                   : cuda ? "nothing is checked on a GPU; cuda-emulated runs its kernels on the CPU"
                          : "nothing is checked on it",
                   as_cuda  ? "as cuda"
                   : !cuda  ? "use a machine that has it"
                   : driver ? "build with CUDA's toolkit and a driver of its version: docs/gpu.md"
                            : "on a machine with a GPU, install NVIDIA's driver: docs/gpu.md");
}

static void tell_present(struct hc_doctor *doctor, const struct hc_backend *backend)
{
    struct trial trial = {.all = 0};
    char found[512];
    char repair[256];
    int used = snprintf(found, sizeof found, "%.100s, %d of %d ops", backend->title,
                        ops_of(backend), (int)HC_OP_COUNT);
    if (backend->on_request || backend->default_cases) {
        (void)snprintf(found + used, sizeof found - (size_t)used, ", runs%s%s only if it is named",
                       backend->on_request ? "" : " more than ",
                       backend->on_request ? "" : backend->default_cases);
        hc_doctor_tell(doctor, HC_HEALTH_OK, backend->name, found, NULL, NULL);
        return;
    }
    enum hc_status status = try_it(backend, &trial);
    bool right = status == HC_OK && trial.count[HC_FAIL] + trial.count[HC_ERROR] == 0;
    (void)snprintf(found + used, sizeof found - (size_t)used, ", %d of %d trials pass%s%.200s",
                   trial.count[HC_PASS], trial.all, status == HC_OK ? "" : "; ",
                   status == HC_OK ? "" : hc_message());
    (void)snprintf(repair, sizeof repair, "halfcheck run %s '%s' --backend %s", tried[0], tried[1],
                   backend->name);
    hc_doctor_tell(doctor, right ? HC_HEALTH_OK : HC_HEALTH_BROKEN, backend->name, found,
                   right ? NULL : "its results are wrong here", right ? NULL : repair);
}

void hc_doctor_backends(struct hc_doctor *doctor)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int b = 0; b < n; b++) {
        const char *why = backends[b]->unavailable ? backends[b]->unavailable() : NULL;
        if (why)
            tell_absent(doctor, backends[b], why);
        else
            tell_present(doctor, backends[b]);
    }
}
