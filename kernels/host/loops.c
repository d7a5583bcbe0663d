#include "kernels/host/loops.h"

#include <stddef.h>
#include <string.h>

#include "op/cpu.h"

#ifdef __x86_64__
static bool has_avx2(void)
{
    return !hc_cpu_lacks(HC_CPU_AVX2);
}

static bool has_avx512(void)
{
    return !hc_cpu_lacks(HC_CPU_AVX512);
}
#endif

static bool always(void)
{
    return true;
}

/* The fastest first. */
static const struct {
    const struct hc_host_loops *loops;
    bool (*runs)(void);
} sets[] = {
#ifdef __x86_64__
    {&hc_host_loops_avx512, has_avx512},
    {&hc_host_loops_avx2, has_avx2},
#endif
    {&hc_host_loops_portable, always},
};

const struct hc_host_loops *hc_host_loops_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(sets[i].loops->name, name) == 0)
            return sets[i].runs() ? sets[i].loops : NULL;
    return NULL;
}

const struct hc_host_loops *hc_host_loops_best(void)
{
    size_t i = 0;
    while (!sets[i].runs())
        i++;
    return sets[i].loops;
}
