#include "check/generate/allpairs.h"

#include <criterion/criterion.h>

static void expect_all(const int *levels, int factors, int most)
{
    int rows[HC_PAIR_ROWS][HC_PAIR_FACTORS];
    int n = hc_all_pairs(levels, factors, rows);
    cr_expect(n <= most, "%d rows", n);
    for (int f = 0; f < factors; f++)
        for (int g = 0; g < f; g++)
            for (int x = 0; x < levels[f]; x++)
                for (int y = 0; y < levels[g]; y++) {
                    bool met = false;
                    for (int i = 0; i < n; i++)
                        met |= rows[i][f] == x && rows[i][g] == y;
                    cr_expect(met, "choice %d of factor %d never meets choice %d of factor %d", x,
                              f, y, g);
                }
    for (int i = 0; i < n; i++)
        for (int f = 0; f < factors; f++)
            cr_expect(rows[i][f] >= 0 && rows[i][f] < levels[f]);
}

/* No fewer rows are possible than two factors have pairs; a greedy search takes up to twice as
   many. */
Test(allpairs, every_two_choices_meet_in_few_rows)
{
    expect_all((const int[]){2, 2}, 2, 4);
    expect_all((const int[]){2, 2, 2}, 3, 6);
    expect_all((const int[]){3, 3, 3, 3}, 4, 15);
    expect_all((const int[]){2, 2, 2, 4, 4, 4, 3, 3}, 8, 28);
    expect_all((const int[]){4, 4, 3, 12}, 4, 60);
    expect_all((const int[]){1, 5, 1}, 3, 5);
    expect_all((const int[]){12, 12, 12}, 3, 160);
}

Test(allpairs, the_rows_are_always_the_same)
{
    int a[HC_PAIR_ROWS][HC_PAIR_FACTORS];
    int b[HC_PAIR_ROWS][HC_PAIR_FACTORS];
    const int levels[] = {3, 4, 5};
    int n = hc_all_pairs(levels, 3, a);
    cr_assert_eq(hc_all_pairs(levels, 3, b), n);
    for (int i = 0; i < n; i++)
        for (int f = 0; f < 3; f++)
            cr_expect_eq(a[i][f], b[i][f]);
}
