#include "num/rng.h"

#include <criterion/criterion.h>
#include <math.h>

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
