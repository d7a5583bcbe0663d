/* Whether num/integer16.h, the arithmetic by which a device judges sweeps, agrees with the expected
   sides of the host. Both run on the host here. */
#include <omp.h>
#include <string.h>

#include "check/sweep/threads.h"
#include "check/sweep/pairs.h"
#include "check/sweep/breakpoints.h"
#include "check/sweep/sweep.h"
#include "num/clones.h"
#include "num/integer16.h"
#include "num/rng.h"

enum { ROW = 65536, ROWS = 65536, SEEDED_ROWS = 64 };

/* Rows of 65,536 operands by their numbers, as in backend.h. */
struct proof {
    enum hc_op op;
    enum hc_format to;
    enum hc_direction direction;
    uint64_t seed;
    int rows;
    struct hc_breakpoints breakpoints[2];
};

/* One thread's row: what is expected, and what the judge would ask for. */
struct pair_of_rows {
    uint16_t want[ROW];
    uint16_t got[ROW];
    struct hc_pairs pairs;
};

static void breakpoints_row(const struct hc_breakpoints *breakpoints, uint32_t first,
                            uint16_t *want)
{
    uint32_t sign = first & 0x80000000u;
    uint32_t magnitude = first & 0x7fffffffu;
    uint32_t code = hc_breakpoints_code(breakpoints, magnitude);
    uint32_t i = 0;
    while (i < ROW) {
        uint32_t next = code > breakpoints->infinity ? UINT32_MAX : breakpoints->first[code + 1];
        uint32_t stop = next - magnitude < ROW ? next - magnitude : ROW;
        for (; i < stop; i++)
            want[i] = (uint16_t)(sign >> 16 | code);
        code++;
    }
}

HC_FLAT_CLONES static void judge_casts(const struct proof *proof, uint32_t first, uint16_t *got)
{
#pragma omp simd
    for (uint32_t i = 0; i < ROW; i++)
        got[i] = hc_integer_from_fp32(proof->to, first + i, proof->direction);
}

HC_FLAT_CLONES static void judge_sums(enum hc_format to, uint32_t x, uint32_t flip, uint16_t *got)
{
#pragma omp simd
    for (uint32_t y = 0; y < ROW; y++)
        got[y] = hc_integer_add(to, x, y ^ flip);
}

HC_FLAT_CLONES static void judge_products(enum hc_format to, uint32_t x, uint16_t *got)
{
#pragma omp simd
    for (uint32_t y = 0; y < ROW; y++)
        got[y] = hc_integer_mul(to, x, y);
}

static void judge_pairs(const struct proof *proof, uint32_t first, uint16_t *got)
{
    uint32_t x = first >> 16;
    if (proof->op == HC_OP_add || proof->op == HC_OP_sub)
        judge_sums(proof->to, x, proof->op == HC_OP_sub ? 0x8000u : 0, got);
    else if (proof->op == HC_OP_mul)
        judge_products(proof->to, x, got);
    for (uint32_t y = 0; y < ROW && proof->op == HC_OP_div; y++)
        got[y] = hc_integer_div(proof->to, x, y);
}

static void prove_row(const struct proof *proof, struct pair_of_rows *rows, int row,
                      struct hc_miss *miss)
{
    struct hc_fields16 fields = hc_fields16_of(proof->to);
    const uint16_t *want = rows->want;
    uint32_t first = (uint32_t)row << 16;
    if (proof->rows < ROWS)
        first = (uint32_t)hc_random(proof->seed, 14, (uint64_t)row) << 16;
    if (proof->op == HC_OP_cast) {
        breakpoints_row(&proof->breakpoints[first >> 31], first, rows->want);
        judge_casts(proof, first, rows->got);
    } else {
        hc_pairs_at(&rows->pairs, (uint16_t)(first >> 16));
        judge_pairs(proof, first, rows->got);
        want = rows->pairs.want;
    }
    bool equal = memcmp(want, rows->got, sizeof rows->got) == 0;
    for (uint32_t i = 0; i < ROW && !equal; i++)
        if (!hc_same16(fields, want[i], rows->got[i]))
            hc_miss_note(miss, first + i, want[i], rows->got[i]);
    miss->checked += ROW;
}

static void prove_rows(struct pair_of_rows *rows_of_threads, const struct proof *proof,
                       struct hc_miss *total)
{
    struct pair_of_rows *rows = &rows_of_threads[omp_get_thread_num()];
    struct hc_miss mine = {0};
    if (proof->op != HC_OP_cast)
        hc_pairs_init(&rows->pairs, proof->op, proof->to);
#pragma omp for schedule(dynamic)
    for (int row = 0; row < proof->rows; row++)
        prove_row(proof, rows, row, &mine);
#pragma omp critical
    hc_miss_add(total, &mine);
}

void hc_claim_judge(struct hc_check *check, enum hc_op op, enum hc_format to,
                    enum hc_direction direction)
{
    struct proof *proof = hc_check_memory(check, sizeof *proof);
    int threads = omp_get_max_threads();
    struct pair_of_rows *rows_of_threads =
        hc_check_memory(check, (size_t)threads * sizeof *rows_of_threads);
    proof->op = op;
    proof->to = to;
    proof->direction = direction;
    proof->seed = hc_check_seed(check);
    proof->rows = hc_check_level(check) == HC_EXHAUSTIVE ? ROWS : SEEDED_ROWS;
    for (int negative = 0; negative < 2 && op == HC_OP_cast; negative++)
        hc_breakpoints_build(&proof->breakpoints[negative], to, direction, negative);
    struct hc_miss miss = {0};
#pragma omp parallel num_threads(threads)
    prove_rows(rows_of_threads, proof, &miss);
    hc_miss_claim(check, &miss, "operands 0x%08x: want 0x%04x, the judge has 0x%04x",
                  (unsigned)miss.where, (unsigned)miss.want, (unsigned)miss.got);
}
