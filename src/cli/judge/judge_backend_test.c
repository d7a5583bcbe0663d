/* A case that judge runs on a program behind a pipe. */
#include "cli/judge/testing.h"

#include "op/descriptor.h"
#include "tensor_file/tensor_file.h"

TestSuite(judge_backend, .init = enter_folder);

/* A = 2^-130 but for `normal` ones, B = 2^100, C = A B: 2 x 8 times 8 x 2 in bf16. */
static void write_subnormal(const char *path, int normal)
{
    struct hc_tensor a = hc_tensor2(HC_BF16, 2, 8, NULL);
    struct hc_tensor b = hc_tensor2(HC_BF16, 8, 2, NULL);
    struct hc_tensor c = hc_tensor2(HC_FP32, 2, 2, NULL);
    a.data = memory(&a);
    b.data = memory(&b);
    c.data = memory(&c);
    for (int i = 0; i < 16; i++) {
        hc_tensor_set(&a, i, i < normal ? 1 : 0x1p-130);
        hc_tensor_set(&b, i, 0x1p100);
    }
    const struct hc_descriptor *d = hc_descriptor(HC_OP_gemm);
    const struct hc_named_tensor tensors[] = {
        {.name = hc_slot(HC_OP_gemm, HC_GEMM_A)->name, .tensor = a},
        {.name = hc_slot(HC_OP_gemm, HC_GEMM_B)->name, .tensor = b},
        {.name = d->out[HC_GEMM_OUT].name, .tensor = c}};
    cr_assert_eq(hc_safetensors_write(path, tensors, 3, NULL, 0), HC_OK, "%s", hc_message());
}

static const char flushing[] =
    "import json, os, struct, sys\n"
    "read, write = sys.stdin.buffer, sys.stdout.buffer\n"
    "read.readline()\n"
    "write.write(json.dumps({'pipe': 1, 'name': 'f', 'ops': {'gemm': {'formats': ['bf16']}},\n"
    "    'accumulator': {'precision': 24, 'flushes': True}}).encode() + b'\\n')\n"
    "write.flush()\n"
    "def value(bits):\n"
    "    silent = bits & 0x7f80 or 'SILENT' in os.environ\n"
    "    return struct.unpack('f', struct.pack('I', bits << 16))[0] if silent else 0.0\n"
    "for line in read:\n"
    "    call = json.loads(line)\n"
    "    t = {n: (i['shape'], [value(b) for b, in struct.iter_unpack('H', "
    "read.read(i['bytes']))])\n"
    "         for n, i in call['in'].items()}\n"
    "    (_, a), ((k, n), b) = list(t.values())[:2]\n"
    "    c = [sum(a[i * k + t] * b[t * n + j] for t in range(k))\n"
    "         for i in range(len(a) // k) for j in range(n)]\n"
    "    write.write(b'ok\\n' + struct.pack('%df' % len(c), *c))\n"
    "    write.flush()\n";

Test(judge_backend, factors_that_a_backend_flushes_are_counted_and_prove_nothing)
{
    write_text("f.py", flushing);
    write_subnormal("none", 0);
    write_subnormal("some", 8);
    const char *const none[] = {
        "MISTRUSTED  gemm on pipe:", "16 subnormal factors count as 0: the backend declares",
        "flushes subnormals, as it declares", NULL};
    const char *const some[] = {"PASS  gemm on pipe:", "8 subnormal factors count as 0", NULL};
    prints("$hc judge gemm --tensors none --backend 'pipe:python3 f.py'", 1, none);
    prints("$hc judge gemm --tensors none --backend 'pipe:python3 f.py' --json -", 1,
           (const char *const[]){"\"flushed\": 16", "MISTRUSTED", NULL});
    prints("$hc judge gemm --tensors some --backend 'pipe:python3 f.py'", 0, some);
}

/* It says that it flushes, and does not: what it fails at are the subnormals. */
Test(judge_backend, a_kept_case_has_the_factors_that_count_as_0)
{
    const char *const fails[] = {"FAIL  gemm on pipe:", "subnormal factors count as 0", NULL};
    write_text("f.py", flushing);
    write_subnormal("none", 0);
    cr_assert_eq(setenv("SILENT", "1", 1), 0);
    prints("$hc judge gemm --tensors none --backend 'pipe:python3 f.py' --keep k", 1, fails);
    prints("$hc judge k --backend 'pipe:python3 f.py'", 1, fails);
}
