/* vdpbf16ps of this machine against the golden vectors, which were measured on another vendor's. */
#include "kernels/avx512bf16/testing.h"

#include "kernels/avx512bf16/avx512bf16.h"
#include "unit/testing.h"

/* The chain of a line by the instruction, in one of 16 lanes. */
static uint32_t by_instruction(const struct vector *v)
{
    uint32_t d[16] = {v->c};
    for (int64_t i = 0; i < v->n; i += 2) {
        uint32_t a[16] = {v->a[i] | v->a[i + 1] << 16};
        uint32_t b[16] = {v->b[i] | v->b[i + 1] << 16};
        hc_avx512bf16_lanes(a, b, d, d);
    }
    return d[0];
}

static void hold(const char *path, int at_least)
{
    static struct vector v;
    const struct hc_unit *u = hc_unit_by_name("avx512bf16-bf16-fp32");
    FILE *in = fopen(path, "r");
    int line = 0;
    int lines = 0;
    cr_assert_not_null(in, "%s: cannot be read", path);
    for (int read; (read = next_vector(in, u, &v, &line)) != 0; lines++) {
        cr_assert_eq(read, 1, "%s:%d: not a vector", path, line);
        uint32_t got = by_instruction(&v);
        cr_expect_eq(got, v.d, "%s:%d: want %08x, got %08x", path, line, v.d, got);
    }
    (void)fclose(in);
    cr_expect_geq(lines, at_least, "%s: %d lines", path, lines);
}

Test(vdpbf16ps, gives_the_golden_vectors)
{
    const char *reason = hc_backend_by_name("avx512bf16")->unavailable();
    if (reason)
        cr_skip_test("%s", reason);
    hold(HC_SOURCE "/src/unit/vectors/avx512bf16-bf16-fp32.txt", 300);
}
