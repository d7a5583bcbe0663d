#include "op/cpu.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void hide(const char *list)
{
    cr_assert_eq(setenv("HALFCHECK_HIDE", list, 1), 0);
}

Test(cpu, nothing_is_hidden_unless_it_is_asked_for)
{
    unsetenv("HALFCHECK_HIDE");
    cr_expect_eq(hc_cpu_check_hidden(), HC_OK);
    for (int s = 0; s < HC_CPU_SETS; s++)
        cr_expect_not(hc_cpu_hides((enum hc_cpu_set)s));
    cr_expect_null(hc_cpu_onednn_most());
    hide("");
    cr_expect_eq(hc_cpu_check_hidden(), HC_OK);
    cr_expect_not(hc_cpu_hides(HC_CPU_AVX2));
}

Test(cpu, what_builds_on_a_hidden_set_is_hidden_with_it)
{
    hide("avx512bf16, amx");
    cr_expect_eq(hc_cpu_check_hidden(), HC_OK);
    static const bool two[HC_CPU_SETS] = {[HC_CPU_AVX512BF16] = true, [HC_CPU_AMX] = true};
    for (int s = 0; s < HC_CPU_SETS; s++)
        cr_expect_eq(hc_cpu_hides((enum hc_cpu_set)s), two[s], "%s", hc_cpu_set_names[s]);
    cr_expect_str_eq(hc_cpu_onednn_most(), "AVX512_CORE_VNNI");
    hide("avx512");
    for (int s = 0; s < HC_CPU_SETS; s++)
        cr_expect_eq(hc_cpu_hides((enum hc_cpu_set)s), s != HC_CPU_AVX2, "%s", hc_cpu_set_names[s]);
    cr_expect_str_eq(hc_cpu_onednn_most(), "AVX2");
}

/* Whether the processor has it or not, it may not be used. */
Test(cpu, a_hidden_set_is_lacking_with_a_reason)
{
    hide("avx2");
    for (int s = 0; s < HC_CPU_SETS; s++) {
        const char *why = hc_cpu_lacks((enum hc_cpu_set)s);
        cr_assert_not_null(why);
        cr_expect(strstr(why, "hides avx2") || strstr(why, "this processor has no"), "%s", why);
        cr_expect_eq(hc_cpu_lacks((enum hc_cpu_set)s), why);
    }
}

Test(cpu, a_list_with_a_wrong_name_is_refused)
{
    static const struct {
        const char *list;
        const char *says;
    } rows[] = {{"amx,avx513", "no set 'avx513' of instructions; did you mean 'avx512'?"},
                {"AMX", "no set 'AMX'"},
                {"amx,,avx512", "an element is empty"},
                {",", "an element is empty"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hide(rows[i].list);
        cr_expect_eq(hc_cpu_check_hidden(), HC_INVALID, "%s", rows[i].list);
        cr_expect_not_null(strstr(hc_message(), rows[i].says), "%s", hc_message());
    }
}
