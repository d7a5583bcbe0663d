#include "kernels/cuda/library/accumulator.h"

#include <criterion/criterion.h>

Test(accumulator, is_the_published_one_of_each_device)
{
    struct hc_accumulator hopper = hc_cuda_accumulator(9, 0);
    struct hc_accumulator ampere = hc_cuda_accumulator(8, 0);
    cr_assert(hopper.precision == 24 && hopper.block == 16 && hopper.extra_bits == 2 &&
              hopper.truncates && hopper.aligns_subnormals);
    cr_assert(ampere.precision == 24 && ampere.block == 8 && ampere.extra_bits == 1 &&
              ampere.truncates);
}

/* The growth of the error with each term: U (b 2^-e + 1) / b (src/check/bound/sum.c). */
static double a_term(struct hc_accumulator a)
{
    return (a.block / (double)(1 << a.extra_bits) + 1) / a.block;
}

Test(accumulator, of_an_unknown_device_is_no_narrower_than_any_known_one)
{
    static const int capabilities[][2] = {{7, 0}, {8, 0}, {8, 9}, {9, 0}, {10, 0}};
    double unknown = a_term(hc_cuda_accumulator(99, 9));
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++)
        cr_assert_leq(a_term(hc_cuda_accumulator(capabilities[i][0], capabilities[i][1])), unknown);
}
