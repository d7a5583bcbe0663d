#include <criterion/criterion.h>
#include <math.h>

#include "num/rng.h"
#include "num/stochastic.h"

/* The rows of philox4x32 with 10 rounds in Random123's kat_vectors: counter, key, result. */
Test(rng, philox_gives_the_published_answers)
{
    static const struct {
        uint32_t counter[4];
        uint32_t key[2];
        uint32_t want[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_philox got = hc_philox(rows[i].key, rows[i].counter);
        for (int w = 0; w < 4; w++)
            cr_assert_eq(got.word[w], rows[i].want[w], "row %zu, word %d", i, w);
    }
}

Test(rng, seed_stream_and_index_fill_key_and_counter)
{
    uint64_t word = hc_random(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
    cr_assert_eq(word, 0x94fdccebd16cfe09);
}

Test(rng, uniform_values_lie_in_the_half_open_interval_and_spread)
{
    int bin[16] = {0};
    for (uint64_t i = 0; i < 16000; i++) {
        double u = hc_random_uniform(7, 3, i);
        cr_assert(u >= 0 && u < 1);
        bin[(int)(u * 16)]++;
    }
    /* 1000 a bin, standard deviation 31; five of them. */
    for (int b = 0; b < 16; b++)
        cr_assert(abs(bin[b] - 1000) < 155, "bin %d holds %d", b, bin[b]);
}

Test(rng, normal_values_have_mean_0_and_variance_1)
{
    double sum = 0;
    double squares = 0;
    int n = 40000;
    for (int i = 0; i < n; i++) {
        double x = hc_random_normal(7, 4, (uint64_t)i);
        cr_assert(isfinite(x));
        sum += x;
        squares += x * x;
    }
    /* Standard deviations 1/sqrt(n) and sqrt(2/n); five of them. */
    cr_assert(fabs(sum / n) < 5 / sqrt(n));
    cr_assert(fabs(squares / n - 1) < 5 * sqrt(2.0 / n));
}

/* Bits of fp32 numbers whose upper half is `high`: the lower half is the distance. */
static const uint32_t highs[] = {0x0000, 0x0001, 0x007f, 0x0080, 0x3f7f, 0x3f80, 0x4123,
                                 0x7f7e, 0x7f7f, 0x8000, 0x8001, 0xbf80, 0xff7f};
static const uint32_t lows[] = {0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};

/* Exact, so the mean is the number itself. */
Test(stochastic, as_many_random_numbers_carry_away_from_zero_as_the_distance_says)
{
    for (size_t h = 0; h < sizeof highs / sizeof highs[0]; h++)
        for (size_t l = 0; l < sizeof lows / sizeof lows[0]; l++) {
            float x = hc_fp32_value(highs[h] << 16 | lows[l]);
            uint32_t away = 0;
            for (uint32_t random = 0; random < 0x10000; random++) {
                uint16_t got = hc_bf16_stochastic(x, random);
                cr_assert(got == highs[h] || got == highs[h] + 1, "%a gives 0x%04x", (double)x,
                          got);
                away += got != highs[h];
            }
            cr_assert_eq(away, lows[l], "%a: %u", (double)x, away);
        }
}

Test(stochastic, what_is_no_number_stays)
{
    for (uint32_t random = 0; random < 0x10000; random += 0xff) {
        cr_assert_eq(hc_bf16_stochastic(INFINITY, random), 0x7f80);
        cr_assert_eq(hc_bf16_stochastic(-INFINITY, random), 0xff80);
        for (uint32_t nan = 0x7f800001u; nan < 0x80000000u; nan += 0x7ffe)
            for (uint32_t sign = 0; sign < 2; sign++) {
                uint16_t got = hc_bf16_stochastic(hc_fp32_value(nan | sign << 31), random);
                cr_assert((got & 0x7fc0) == 0x7fc0 && got >> 15 == sign, "0x%04x", got);
            }
    }
}

Test(rng, a_row_of_random_numbers_has_those_of_its_elements)
{
    uint64_t row[37];
    static const uint64_t first[] = {0, 5, UINT32_MAX - 10};
    for (int k = 0; k < 3; k++)
        for (int n = 0; n <= 37; n++) {
            row[n < 37 ? n : 0] = 77;
            hc_random_row(9, 4, first[k], n, row);
            for (int i = 0; i < n; i++)
                cr_assert_eq(row[i], hc_random(9, 4, first[k] + (uint64_t)i));
            cr_assert(n == 37 || row[n] == 77);
        }
}

/* Each element once: the four words of each lane, 16 elements apart. */
Test(stochastic, every_element_has_a_word_of_its_own)
{
    for (uint64_t lane = 0; lane < 4 * HC_ROUND_LANES; lane++)
        for (uint64_t word = 0; word < 4; word++) {
            uint64_t block = lane / HC_ROUND_LANES;
            uint64_t element = 64 * block + 16 * word + lane % 16;
            cr_assert_eq(hc_round_random(5, 3, element),
                         hc_round_lane(5, 3, lane).word[word] >> 16);
        }
}

/* Philox's counter is (index, index >> 32, t, "ROUN"): nobody else's, and others at each step. */
Test(stochastic, numbers_change_with_seed_step_and_element)
{
    uint32_t of_seed = 0;
    uint32_t of_step = 0;
    uint32_t of_element = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        uint32_t here = hc_round_random(1, 1, n);
        cr_assert_eq(here, hc_round_random(1, 1, n));
        of_seed += here == hc_round_random(2, 1, n);
        of_step += here == hc_round_random(1, 2, n);
        of_element += here == hc_round_random(1, 1, n + 1);
    }
    /* Each pair is equal once in 65536. */
    cr_assert(of_seed < 4 && of_step < 4 && of_element < 4);
}
