#include "op/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "op/typed.h"

#ifdef __x86_64__
#include <cpuid.h>

/* Leaf 7 of CPUID, by subleaf; 0 where there is none. */
static bool leaf7(unsigned subleaf, bool in_eax, int bit)
{
    unsigned a = 0;
    unsigned b;
    unsigned c;
    unsigned d = 0;
    return __get_cpuid_count(7, subleaf, &a, &b, &c, &d) && ((in_eax ? a : d) >> bit & 1);
}

/* The compiler's test for a set includes that the system saves its registers. */
static bool has_avx2(void)
{
    unsigned a;
    unsigned b;
    unsigned c = 0;
    unsigned d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool has_bf16(void)
{
    return has_avx512() && leaf7(1, true, 5);
}

static bool has_fp16(void)
{
    return has_avx512() && leaf7(0, false, 23);
}

static bool has_amx(void)
{
    return leaf7(0, false, 22) && leaf7(0, false, 24);
}
#else
static bool has_none(void)
{
    return false;
}
#define has_avx2   has_none
#define has_avx512 has_none
#define has_vnni   has_none
#define has_bf16   has_none
#define has_fp16   has_none
#define has_amx    has_none
#endif

const char *const hc_cpu_set_names[HC_CPU_SETS] = {
    [HC_CPU_AVX2] = "avx2",
    [HC_CPU_AVX512] = "avx512",
    [HC_CPU_AVX512VNNI] = "avx512vnni",
    [HC_CPU_AVX512BF16] = "avx512bf16",
    [HC_CPU_AVX512FP16] = "avx512fp16",
    [HC_CPU_AMX] = "amx",
};

static const struct {
    bool (*has)(void);
    enum hc_cpu_set below; /* which it builds on; itself: none */
    const char *absent;
    const char *hidden;
    const char *onednn; /* the most that oneDNN may use without it */
} sets[HC_CPU_SETS] = {
    [HC_CPU_AVX2] = {has_avx2, HC_CPU_AVX2, "this processor has no AVX2",
                     "HALFCHECK_HIDE hides avx2", "SSE41"},
    [HC_CPU_AVX512] = {has_avx512, HC_CPU_AVX2, "this processor has no AVX-512",
                       "HALFCHECK_HIDE hides avx512", "AVX2"},
    [HC_CPU_AVX512VNNI] = {has_vnni, HC_CPU_AVX512, "this processor has no AVX512_VNNI",
                           "HALFCHECK_HIDE hides avx512vnni", "AVX512_CORE"},
    [HC_CPU_AVX512BF16] = {has_bf16, HC_CPU_AVX512, "this processor has no AVX512_BF16",
                           "HALFCHECK_HIDE hides avx512bf16", "AVX512_CORE_VNNI"},
    [HC_CPU_AVX512FP16] = {has_fp16, HC_CPU_AVX512, "this processor has no AVX512-FP16",
                           "HALFCHECK_HIDE hides avx512fp16", "AVX512_CORE_BF16"},
    [HC_CPU_AMX] = {has_amx, HC_CPU_AVX512, "this processor has no AMX for bf16",
                    "HALFCHECK_HIDE hides amx", "AVX512_CORE_BF16"},
};

static bool is_named(enum hc_cpu_set set)
{
    const char *at = getenv("HALFCHECK_HIDE");
    const char *element;
    size_t length;
    while (at && *at && hc_list_next("HALFCHECK_HIDE", at, &at, &element, &length) == HC_OK)
        if (strlen(hc_cpu_set_names[set]) == length &&
            memcmp(hc_cpu_set_names[set], element, length) == 0)
            return true;
    return false;
}

bool hc_cpu_hides(enum hc_cpu_set set)
{
    return is_named(set) || (sets[set].below != set && hc_cpu_hides(sets[set].below));
}

static const char *look(enum hc_cpu_set set)
{
    if (!sets[set].has())
        return sets[set].absent;
    while (!is_named(set) && sets[set].below != set)
        set = sets[set].below;
    return is_named(set) ? sets[set].hidden : NULL;
}

/* In a virtual machine CPUID takes as long as a small kernel, so each set is looked at once. */
const char *hc_cpu_lacks(enum hc_cpu_set set)
{
    static const char there[] = "there";
    static const char *_Atomic seen[HC_CPU_SETS]; /* NULL: not yet */
    const char *why = seen[set];
    if (!why) {
        why = look(set);
        seen[set] = why ? why : there;
    }
    return why == there ? NULL : why;
}

enum hc_status hc_cpu_check_hidden(void)
{
    const char *at = getenv("HALFCHECK_HIDE");
    const char *element;
    size_t length;
    enum hc_status status = HC_OK;
    while (at && *at && status == HC_OK) {
        status = hc_list_next("HALFCHECK_HIDE", at, &at, &element, &length);
        bool known = false;
        struct hc_nearest nearest = hc_nearest_to(element, length);
        for (int s = 0; s < HC_CPU_SETS; s++) {
            hc_nearest_try(&nearest, hc_cpu_set_names[s]);
            known |= strlen(hc_cpu_set_names[s]) == length &&
                     memcmp(hc_cpu_set_names[s], element, length) == 0;
        }
        if (status == HC_OK && !known)
            status = hc_fail(HC_INVALID, "HALFCHECK_HIDE: there is no set '%.*s' of instructions%s",
                             (int)length, element, hc_nearest_hint(&nearest));
    }
    return status;
}

const char *hc_cpu_onednn_most(void)
{
    for (int s = 0; s < HC_CPU_SETS; s++)
        if (hc_cpu_hides((enum hc_cpu_set)s))
            return sets[s].onednn;
    return NULL;
}
