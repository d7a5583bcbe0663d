#include "kernels/host/loops.h"

#include <stddef.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>

static bool has_avx2(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
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
