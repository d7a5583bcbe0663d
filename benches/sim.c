/* How fast products with the bits of matrix units are, by core. The backends use all of them. */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "benches/inner/subject.h"
#include "unit/unit.h"

/* The products of a call on a sim backend and of the same call in fp32 on host. */
enum { ROWS = 256, COLUMNS = 128, TERMS = 512, PLAIN_SUMS = 16 };

struct sides {
    struct hc_subject unit, host;
    const struct hc_unit *plain;
    uint32_t a[TERMS], b[TERMS], sum;
};

static void on_unit(void *context)
{
    enum hc_status status = hc_subject_run(&((struct sides *)context)->unit);
    assert(status == HC_OK);
    (void)status;
}

static void on_host(void *context)
{
    enum hc_status status = hc_subject_run(&((struct sides *)context)->host);
    assert(status == HC_OK);
    (void)status;
}

static void plainly(void *context)
{
    struct sides *s = context;
    for (int i = 0; i < PLAIN_SUMS; i++)
        s->sum = hc_unit_dot(s->plain, s->a, s->b, NULL, TERMS, 0) ^ s->sum;
}

static struct hc_call product(enum hc_format format, bool tf32)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .tf32 = tf32}};
    call.in[HC_GEMM_A] = hc_tensor2(format, ROWS, TERMS, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(format, TERMS, COLUMNS, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, ROWS, COLUMNS, NULL);
    return call;
}

/* Numbers near 1, the same for every unit. */
static void draw(struct sides *s)
{
    const struct hc_operand_info *o = &hc_operands[s->plain->a];
    uint32_t one = (uint32_t)o->bias << o->fraction;
    for (uint64_t i = 0; i < TERMS; i++) {
        uint32_t bits = (uint32_t)hc_random(14, 0, i);
        uint32_t fraction = (1u << o->fraction) - 1;
        s->a[i] = one | (bits & fraction) | (bits >> 31) << (o->bits - 1);
        s->b[i] = one | (bits >> 8 & fraction);
    }
}

static enum hc_format format_of(const struct hc_unit *u)
{
    return u->a == HC_OPERAND_FP16 ? HC_FP16 : u->a == HC_OPERAND_BF16 ? HC_BF16 : HC_FP32;
}

static void measure(struct hc_bench_run *run, const struct hc_backend *backend,
                    const struct hc_unit *u)
{
    static struct sides s;
    void (*const works[])(void *) = {on_unit, on_host, plainly};
    struct hc_call call = product(format_of(u), true);
    struct hc_call fp32 = product(HC_FP32, false);
    double seconds[3];
    s = (struct sides){.plain = u};
    draw(&s);
    if (hc_subject_open(&s.unit, backend, &call, 1) == HC_OK &&
        hc_subject_open(&s.host, hc_backend_by_name("host"), &fp32, 1) == HC_OK) {
        double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
        double n = (double)ROWS * COLUMNS * TERMS / cores;
        hc_bench_time(works, 3, &s, 3, 0.1, seconds);
        struct hc_rate rate = {.what = u->name,
                               .rate = n / seconds[0],
                               .unit = "products/s/core",
                               .against = "plain statement",
                               .other = PLAIN_SUMS * TERMS / seconds[2]};
        hc_bench_rate(run, &rate);
        rate.against = "host, fp32";
        rate.other = n / seconds[1];
        hc_bench_rate(run, &rate);
    } else {
        hc_bench_skip(run, hc_message());
    }
    hc_subject_close(&s.unit);
    hc_subject_close(&s.host);
}

static void units(struct hc_bench_run *run)
{
    int n;
    const struct hc_backend *const *backends = hc_backends_built_in(&n);
    for (int i = 0; i < n; i++)
        for (const struct hc_unit *const *u = backends[i]->units; u && *u; u++)
            if (strncmp(backends[i]->name, "sim-", 4) == 0 && (*u)->d == HC_OPERAND_FP32)
                measure(run, backends[i], *u);
}

static const struct hc_bench benches[] = {
    {.name = "sim/products",
     .title = "products with the bits of matrix units, against hc_unit_dot and against fp32",
     .run = units},
};

const struct hc_bench_table hc_benches_sim;
const struct hc_bench_table hc_benches_sim = {benches, 1};
