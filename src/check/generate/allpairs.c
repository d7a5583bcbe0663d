#include "check/generate/allpairs.h"

#include <assert.h>
#include <stdbool.h>

/* Which pairs have met; of two factors the one with the smaller number comes first. */
struct pairs {
    const int *levels;
    int factors;
    bool met[HC_PAIR_FACTORS][HC_PAIR_LEVELS][HC_PAIR_FACTORS][HC_PAIR_LEVELS];
};

static bool *pair_of(struct pairs *p, int f, int x, int g, int y)
{
    return f < g ? &p->met[f][x][g][y] : &p->met[g][y][f][x];
}

/* Sets the first pair that has not met yet in the row. */
static bool begin_row(struct pairs *p, int *row)
{
    for (int f = 0; f < p->factors; f++)
        row[f] = -1;
    for (int f = 0; f < p->factors; f++)
        for (int g = f + 1; g < p->factors; g++)
            for (int x = 0; x < p->levels[f]; x++)
                for (int y = 0; y < p->levels[g]; y++)
                    if (!p->met[f][x][g][y]) {
                        row[f] = x;
                        row[g] = y;
                        return true;
                    }
    return false;
}

/* How many pairs would meet for the first time. */
static int gain(struct pairs *p, const int *row, int f, int x)
{
    int n = 0;
    for (int g = 0; g < p->factors; g++)
        n += g != f && row[g] >= 0 && !*pair_of(p, f, x, g, row[g]);
    return n;
}

/* The choice that gains most; of equals the first from `start` on, so that they take turns. */
static int best(struct pairs *p, const int *row, int f, int start)
{
    int choice = start % p->levels[f];
    for (int k = 1; k < p->levels[f]; k++) {
        int x = (start + k) % p->levels[f];
        if (gain(p, row, f, x) > gain(p, row, f, choice))
            choice = x;
    }
    return choice;
}

int hc_all_pairs(const int *levels, int factors, int rows[HC_PAIR_ROWS][HC_PAIR_FACTORS])
{
    struct pairs p = {.levels = levels, .factors = factors};
    int n = 0;
    int row[HC_PAIR_FACTORS];
    assert(factors <= HC_PAIR_FACTORS);
    while (begin_row(&p, row)) {
        assert(n < HC_PAIR_ROWS);
        for (int f = 0; f < factors; f++)
            if (row[f] < 0)
                row[f] = best(&p, row, f, n);
        for (int f = 0; f < factors; f++) {
            rows[n][f] = row[f];
            for (int g = 0; g < f; g++)
                *pair_of(&p, f, row[f], g, row[g]) = true;
        }
        n++;
    }
    return n;
}
