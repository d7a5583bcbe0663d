#include "kernels/sim/engine.h"

#include <stddef.h>

#include "op/cpu.h"

static bool copy_row(const struct hc_unit *u, const uint32_t *codes, int64_t terms, uint32_t *words)
{
    (void)u;
    for (int64_t i = 0; i < terms; i++)
        words[i] = codes[i];
    return false;
}

static bool copy_column(const struct hc_unit *u, const uint32_t *codes, int64_t terms,
                        uint32_t *words)
{
    (void)u;
    for (int64_t i = 0; i < terms; i++)
        words[i * HC_SIM_COLUMNS] = codes[i];
    return false;
}

static bool is_absent(const struct hc_unit *u, uint32_t code)
{
    uint32_t mark = u->a == HC_OPERAND_TF32 ? HC_SIM_ABSENT_TF32 : HC_SIM_ABSENT;
    return code & mark;
}

uint32_t hc_sim_plain_dot(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                          int64_t terms, uint32_t c, uint32_t *buffer)
{
    for (int64_t i = 0; i < terms; i++) {
        bool absent = is_absent(u, a[i]) || is_absent(u, b[i]);
        buffer[i] = absent ? 0 : a[i];
        buffer[terms + i] = absent ? 0 : b[i];
    }
    return hc_unit_dot(u, buffer, buffer + terms, NULL, terms, c);
}

/* One instruction after another, so that the buffers are short. */
static void run_plainly(const struct hc_unit *u, const uint32_t *a, int64_t rows, const uint32_t *b,
                        int64_t terms, uint32_t *sums, uint16_t *left)
{
    enum { MOST = 64 };
    uint32_t column[MOST];
    uint32_t buffer[2 * MOST];
    for (int64_t row = 0; row < rows; row++) {
        left[row] = 0;
        for (int64_t j = 0; j < HC_SIM_COLUMNS; j++)
            for (int64_t i = 0; i < terms; i += u->k) {
                uint32_t *sum = sums + row * HC_SIM_COLUMNS + j;
                for (int64_t k = 0; k < u->k; k++)
                    column[k] = b[(i + k) * HC_SIM_COLUMNS + j];
                *sum = hc_sim_plain_dot(u, a + row * terms * HC_SIM_A_WORDS + i, column, u->k, *sum,
                                        buffer);
            }
    }
}

const struct hc_sim_engine hc_sim_portable = {"portable", copy_row, copy_column, run_plainly};

static bool has_avx512(void)
{
    return !hc_cpu_lacks(HC_CPU_AVX512);
}

const struct hc_sim_engine *hc_sim_engine_for(const struct hc_unit *u)
{
#ifdef __x86_64__
    static const struct hc_sim_engine *(*const by_rule[])(const struct hc_unit *u) = {
        hc_sim_fused_avx512, hc_sim_floored_avx512, hc_sim_exact_avx512, hc_sim_chained_avx512};
    for (size_t i = 0; i < sizeof by_rule / sizeof by_rule[0] && has_avx512(); i++)
        if (by_rule[i](u))
            return by_rule[i](u);
#endif
    return &hc_sim_portable;
}
