/* The command judge: tensors from files, and what it says of them. */
#include "cli/judge/testing.h"

#include <jansson.h>
#include <math.h>

#include "num/format.h"
#include "num/rng.h"
#include "tensor_file/tensor_file.h"

TestSuite(judge_command, .init = enter_folder);

Test(judge_command, names_from_files_cannot_reach_the_terminal)
{
    const float one[] = {1};
    struct hc_tensor t = hc_tensor1(HC_FP32, 1, (void *)(uintptr_t)one);
    const struct hc_named_tensor tensors[] = {{.name = "\x1b[31mx", .tensor = t},
                                              {.name = "z", .tensor = t}};
    const struct hc_metadata metadata[] = {{"halfcheck.op", "\x1b[31m"}};
    cr_assert_eq(hc_safetensors_write("t", tensors, 2, metadata, 1), HC_OK);
    const char *const lines[] = {"$hc judge t", "$hc judge sqrt --in t --out t:z",
                                 "$hc judge sqrt --in \"$(printf 't:\\033[31mx')\" --out t:z"};
    for (int i = 0; i < 3; i++) {
        const struct ran *ran = run_shell(lines[i]);
        cr_expect_null(strchr(ran->out, 0x1b), "%s", lines[i]);
        cr_expect_null(strchr(ran->err, 0x1b), "%s", lines[i]);
    }
}

/* A dot product whose factors are tf32 or fp32, added up in order. */
static float dotted(const float *x, const float *y, int n, bool tf32)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float a = tf32 ? (float)hc_round(HC_TF32, (double)x[i]) : x[i];
        float b = tf32 ? (float)hc_round(HC_TF32, (double)y[i]) : y[i];
        sum += a * b;
    }
    return sum;
}

static void write_long(const char *path, const float *x, int n)
{
    char header[128];
    FILE *file = fopen(path, "wb");
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
    int used =
        snprintf(header + 10, 118, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n);
    header[10 + used] = ' ';
    cr_assert(file && fwrite(header, 1, 128, file) == 128 &&
              fwrite(x, 4, (size_t)n, file) == (size_t)n && fclose(file) == 0);
}

Test(judge_command, a_long_sum_that_loses_bits_is_warned_of_and_fails_if_that_is_asked_for)
{
    enum { TERMS = 1024 };
    static float x[TERMS];
    static float y[TERMS];
    for (uint64_t i = 0; i < TERMS; i++) {
        x[i] = (float)hc_random_normal(1, 1, i);
        y[i] = (float)hc_random_normal(1, 2, i);
    }
    const float tf32 = dotted(x, y, TERMS, true);
    const float fp32 = dotted(x, y, TERMS, false);
    write_long("x.npy", x, TERMS);
    write_long("y.npy", y, TERMS);
    write_npy("tf32.npy", "<f4", "(1,)", &tf32, 4);
    write_npy("fp32.npy", "<f4", "(1,)", &fp32, 4);
    const char *const warned[] = {"PASS  dot", "0 of 1 elements are wrong", "warning   the errors",
                                  NULL};
    const char *const fails[] = {"FAIL  dot", "0 of 1 elements are wrong", "most likely", NULL};
    const char *const right[] = {"PASS  dot", "Whose error? The format's", NULL};
    prints("$hc judge dot --in x.npy --in y.npy --out tf32.npy", 0, warned);
    prints("$hc judge dot --in x.npy --in y.npy --out tf32.npy --strict", 1, fails);
    prints("$hc judge dot --in x.npy --in y.npy --out fp32.npy --strict", 0, right);
}
