#include "num/stochastic.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/format.h"

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
