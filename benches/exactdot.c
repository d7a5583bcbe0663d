/* The exact sum of products in integers against the same sum in MPFR. */
#include <assert.h>

#include "bench.h"
#include "num/exactdot.h"

enum { N = 4096 };

struct sums {
    uint16_t x[N];
    uint16_t y[N];
    double value[2];
    double rest[2];
};

static void integers(void *context)
{
    struct sums *s = context;
    struct hc_exact_dot dot = {0};
    double magnitude;
    for (int i = 0; i < N; i++)
        hc_exact_dot_add(&dot, s->x[i], s->y[i]);
    hc_exact_dot_end(&dot, &s->value[0], &s->rest[0], &magnitude);
}

/* With 256 bits, in which every such sum is exact. */
static void mpfr(void *context)
{
    struct sums *s = context;
    struct hc_real *sum = hc_real_new(0);
    struct hc_real *x = hc_real_new(0);
    struct hc_real *y = hc_real_new(0);
    for (int i = 0; i < N; i++) {
        hc_real_set(x, (double)hc_fp16_value(s->x[i]));
        hc_real_set(y, (double)hc_fp16_value(s->y[i]));
        hc_real_mul(x, x, y);
        hc_real_add(sum, sum, x);
    }
    struct hc_exact want = hc_real_exact(sum);
    s->value[1] = want.hi;
    s->rest[1] = want.lo;
    hc_real_free(sum);
    hc_real_free(x);
    hc_real_free(y);
}

static void dot(struct hc_bench_run *run)
{
    static struct sums s;
    double seconds[2];
    for (uint64_t i = 0; i < N; i++) {
        s.x[i] = (uint16_t)(hc_random(1, 0, i) & 0xbfff);
        s.y[i] = (uint16_t)(hc_random(1, 1, i) & 0xbfff);
    }
    void (*const works[])(void *) = {integers, mpfr};
    hc_bench_time(works, 2, &s, 20, 0.2, seconds);
    assert(s.value[0] == s.value[1] && s.rest[0] == s.rest[1]);
    hc_bench_rate(run, &(struct hc_rate){.what = "4096 terms",
                                         .rate = N / seconds[0],
                                         .unit = "terms/s",
                                         .against = "MPFR",
                                         .other = N / seconds[1],
                                         .least = 20});
}

static const struct hc_bench benches[] = {
    {.name = "exactdot/mpfr",
     .title = "a sum of fp16 products in 128-bit integers against MPFR, same bits",
     .run = dot},
};

const struct hc_bench_table hc_benches_exactdot;
const struct hc_bench_table hc_benches_exactdot = {benches, 1};
