/* The model against the formulas of textbooks (Thakur, Rabenseifner and Gropp, "Optimization of
   collective communication operations in MPICH", 2005), which hold where all links are alike; and
   what the schedule sends against the least that an all-reduce must send. */
#include <criterion/criterion.h>
#include <math.h>

#include "comm/model.h"

static const struct hc_protocol plain[] = {{"plain", 5e-6, 2e-6, 9e-6, 1, HUGE_VAL, HUGE_VAL}};

static const struct hc_cluster one_machine = {
    .gpus = 64, .inside = 100e9, .across = 10e9, .cards = 1, .protocols = plain, .n = 1};

static void expect_seconds(double got, double want)
{
    cr_expect(fabs(got - want) <= 1e-12 * want, "%.17g, not %.17g", got, want);
}

Test(model, one_rank_or_no_number_costs_nothing)
{
    cr_expect_eq(hc_model_all_reduce(&one_machine, HC_COLLECTIVE_RING, 1, 100, 4), 0);
    cr_expect_eq(hc_model_all_reduce(&one_machine, HC_COLLECTIVE_RING, 8, 0, 4), 0);
}

Test(model, a_ring_costs_what_its_formula_says)
{
    for (int r = 2; r <= 64; r += r % 3 + 1) {
        double n = 1e4 * r;
        double want = 5e-6 + 2 * (r - 1) * (2e-6 + n / r * 4 / 100e9);
        expect_seconds(hc_model_all_reduce(&one_machine, HC_COLLECTIVE_RING, r, (int64_t)n, 4),
                       want);
    }
}

Test(model, halves_cost_what_their_formula_says)
{
    for (int r = 2; r <= 64; r *= 2) {
        int64_t n = 64 * 1000;
        double want = 5e-6 + 2 * log2(r) * 2e-6 + 2.0 * (r - 1) / r * (double)n * 2 / 100e9;
        expect_seconds(hc_model_all_reduce(&one_machine, HC_COLLECTIVE_HALVING, r, n, 2), want);
        expect_seconds(hc_model_all_reduce(&one_machine, HC_COLLECTIVE_TREE, r, n, 2), want);
    }
}

/* Halves of two machines of two: the first move crosses twice, so each has half of the card; the
   second stays inside. The sums go the same way back. */
Test(model, what_leaves_a_machine_shares_its_cards)
{
    struct hc_cluster pairs = one_machine;
    pairs.gpus = 2;
    double across = 9e-6 + 1000 * 4 / 5e9;
    double inside = 2e-6 + 500 * 4 / 100e9;
    expect_seconds(hc_model_all_reduce(&pairs, HC_COLLECTIVE_HALVING, 4, 2000, 4),
                   5e-6 + 2 * across + 2 * inside);
    pairs.cards = 2;
    across = 9e-6 + 1000 * 4 / 10e9;
    expect_seconds(hc_model_all_reduce(&pairs, HC_COLLECTIVE_HALVING, 4, 2000, 4),
                   5e-6 + 2 * across + 2 * inside);
}

/* One ring crosses once from each machine. Over one of two cards it has that card's rate; in
   stripes it has both. Its slowest link sets its pace. */
Test(model, a_ring_of_stripes_has_all_cards)
{
    struct hc_cluster pairs = one_machine;
    const struct hc_protocol instant[] = {{"instant", 0, 0, 0, 1, HUGE_VAL, HUGE_VAL}};
    pairs.protocols = instant;
    pairs.gpus = 2;
    pairs.cards = 2;
    expect_seconds(hc_model_all_reduce(&pairs, HC_COLLECTIVE_RING, 4, 4000, 4),
                   6 * 1000 * 4 / 10e9);
    pairs.stripes = true;
    expect_seconds(hc_model_all_reduce(&pairs, HC_COLLECTIVE_RING, 4, 4000, 4),
                   6 * 1000 * 4 / 20e9);
}

/* Latencies of a ring add up along the way of a chunk, of which two go over each gap between
   machines: NCCL's own count (tuning.cc), but for the gap where the chunk begins. */
Test(model, a_chunk_pays_for_the_gaps_that_it_crosses)
{
    struct hc_cluster pairs = one_machine;
    pairs.gpus = 2;
    pairs.inside = HUGE_VAL;
    pairs.across = HUGE_VAL;
    double got = hc_model_all_reduce(&pairs, HC_COLLECTIVE_RING, 8, 8, 4);
    cr_expect_leq(got, 5e-6 + 6 * 2e-6 + 8 * 9e-6 + 1e-12);
    cr_expect_geq(got, 5e-6 + 7 * 2e-6 + 7 * 9e-6 - 1e-12);
}

Test(model, the_fastest_protocol_counts)
{
    const struct hc_cluster *c = &hc_cluster_h100;
    double small = hc_model_all_reduce(c, HC_COLLECTIVE_RING, 8, 8, 4);
    double large = hc_model_all_reduce(c, HC_COLLECTIVE_RING, 8, 1 << 28, 4);
    double bytes = 14.0 / 8 * 4 * (1 << 28);
    expect_seconds(small, 6.6e-6 + 14 * (0.6e-6 + 4 / 87.7e9));
    expect_seconds(large, 8.4e-6 + 14 * 3.4e-6 + bytes / (18 * 20.6e9));
}

Test(model, the_schedule_sends_the_least_that_it_can)
{
    for (int r = 2; r <= 64; r *= 2)
        for (int a = 0; a < HC_COLLECTIVE_LIBRARY; a++) {
            int64_t bytes = 0;
            for (int rank = 0; rank < r; rank++)
                bytes += hc_schedule_sent((enum hc_collective)a, r, rank, 6400, 4).bytes;
            cr_expect_eq(bytes, (int64_t)2 * (r - 1) * 6400 * 4, "%s, %d ranks",
                         hc_collective_names[a], r);
        }
}
