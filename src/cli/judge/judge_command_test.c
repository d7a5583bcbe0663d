/* The command judge: tensors from files, and what it says of them. */
#include "cli/judge/testing.h"

#include <jansson.h>
#include <math.h>

#include "num/format.h"
#include "num/rng.h"
#include "tensor_file/tensor_file.h"

TestSuite(judge_command, .init = enter_folder);

/* 2048 and seven ones, added one at a time in half: each one is lost. What a cluster's own library
   has averaged is judged like this. */
Test(judge_command, a_sum_over_ranks_in_half_is_judged_as_one)
{
    static const uint16_t x[8] = {0x6800, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00};
    const char *const half[] = {"PASS  all_reduce", "real      2055", "got       2048", NULL};
    const char *const wide[] = {"FAIL  all_reduce", "got       2048", NULL};
    write_npy("ranks.npy", "<f2", "(8, 1)", x, sizeof x);
    write_npy("sum.npy", "<f2", "(1,)", x, 2);
    prints("$hc judge all_reduce --in ranks.npy --out sum.npy --accumulator half", 0, half);
    prints("$hc judge all_reduce --in ranks.npy --out sum.npy --set sum=fp16", 0, half);
    prints("$hc judge all_reduce --in ranks.npy --out sum.npy", 1, wide);
}

Test(judge_command, nothing_to_judge_is_no_pass)
{
    const char *const none[] = {"MISTRUSTED  scale", "The outputs have no elements", NULL};
    write_npy("empty.npy", "<f4", "(0,)", "", 0);
    prints("$hc judge scale --in x=empty.npy --set s=2 --out empty.npy", 1, none);
}

/* w = 1, g = 0, lr = 1/2, weight_decay = 1/2: the new weight is 3/4, and m and v stay 0. */
Test(judge_command, small_inputs_are_numbers_on_the_command_line)
{
    const float one[] = {1};
    const float zero[] = {0};
    const float right[] = {0.75F};
    write_npy("one.npy", "<f4", "(1,)", one, 4);
    write_npy("zero.npy", "<f4", "(1,)", zero, 4);
    write_npy("right.npy", "<f4", "(1,)", right, 4);
    const char *const text[] = {"hyper.lr = 0.5", "new_w, fp32 [1]", "got       0.75", NULL};
    const char *line = "$hc judge adamw --in one.npy --in zero.npy --in zero.npy --in zero.npy "
                       "--set lr=0.5 --set weight_decay=0.5 --set eps=0x1p-20 --out %s";
    char command[512];
    (void)snprintf(command, sizeof command, line, "right.npy");
    prints(command, 0, text);
    (void)snprintf(command, sizeof command, line, "new_w=one.npy");
    const char *const wrong[] = {"FAIL  adamw", "real      0.75", NULL};
    prints(command, 1, wrong);
}

/* 1/3 in bf16 is 0x3eab = 171/512, and 170/512 is its neighbour: (1/3 - 170/512) / 2^-9 = 2/3. */
Test(judge_command, ulps_are_those_computed_by_hand)
{
    write_npy("x.npy", "<f4", "(2,)", "\0\0\x80\x3f\xab\xaa\xaa\x3e", 8);
    write_npy("out.npy", "<V2", "(2,)", "\x80\x3f\xaa\x3e", 4);
    const char *const text[] = {"FAIL  cast",
                                "1 of 2 elements is wrong",
                                "wrong     out[1]",
                                "right     0.333984375",
                                "= 0.667 ulp",
                                "x = 0.333333343",
                                NULL};
    prints("$hc judge cast --in x.npy --out out.npy --keep k", 1, text);
    const char *const kept[] = {"FAIL  cast", "out, bf16 [1]", "= 0.667 ulp", NULL};
    prints("$hc judge k", 1, kept);
}

Test(judge_command, json_goes_to_standard_output)
{
    write_npy("x.npy", "<f4", "(1,)", "\0\0\x80\x3f", 4);
    const struct ran *ran = run_shell("$hc judge sqrt --in x.npy --out x.npy --json -");
    json_t *document = json_loads(ran->out, 0, NULL);
    cr_assert_not_null(document, "%s", ran->out);
    cr_expect_str_eq(json_string_value(json_object_get(document, "verdict")), "PASS");
    json_decref(document);
}

Test(judge_command, bad_input_gets_one_line)
{
    static const struct {
        const char *line;
        const char *text;
    } rows[] = {
        {"$hc judge", "judge needs exactly one OP"},
        {"$hc judge convd2", "'convd2' is no op and no file; did you mean 'conv2d'?"},
        {"$hc judge add --in x.npy --out x.npy", "add needs its input y: "},
        {"$hc judge add --in x.npy --in x.npy", "no output is given; give --out out=FILE"},
        {"$hc judge add --in x.npy --in q=x.npy --out x.npy", "the slots of add are x, y"},
        {"$hc judge add --in x=x.npy --in x=x.npy --out x.npy", "x is given twice"},
        {"$hc judge add --in x.npy --in x.npy --in x.npy --out x.npy",
         "--in takes at most 2: x, y"},
        {"$hc judge add --in x.npy --in h.npy --out x.npy", "add: y is fp16, not fp32"},
        {"$hc judge add --in x.npy --in two.npy --out x.npy", "y has shape [2], not 1 element"},
        {"$hc judge add --in x.npy --in none.npy --out x.npy", "cannot read none.npy"},
        {"$hc judge add --in x.npy:a --in x.npy --out x.npy", "x.npy has no tensor 'a'"},
        {"$hc judge x.npy", "does not say which op it is about"},
        {"$hc judge axpy --in x.npy --in x.npy --out x.npy --set alpha", "NAME=VALUE, not 'alpha'"},
        {"$hc judge axpy --in x.npy --in x.npy --out x.npy --set alpha=x", "alpha"},
        {"$hc judge axpy --in x.npy --in x.npy --out x.npy --set beta=1", "beta"},
        {"$hc judge sum --in x.npy --out x.npy --accumulator 24", "--accumulator takes fp32, half"},
        {"$hc judge sum --in x.npy --out x.npy --accumulator 24,4,2,cutt", "--accumulator takes"},
        {"$hc judge sum --in x.npy --out x.npy --layout hwc", "--layout takes one of nchw, nhwc"},
        {"$hc judge xent --in two.npy --in label.npy --out x.npy", "xent"},
    };
    write_npy("x.npy", "<f4", "(1,)", "\0\0\x80\x3f", 4);
    write_npy("h.npy", "<f2", "(1,)", "\0\x3c", 2);
    write_npy("two.npy", "<f4", "(2,)", "\0\0\x80\x3f\0\0\x80\x3f", 8);
    write_npy("label.npy", "<i8", "(1,)", "\7\0\0\0\0\0\0\0", 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ran *ran = run_shell(rows[i].line);
        cr_expect_eq(ran->status, 2, "%s: %d\n%s", rows[i].line, ran->status, ran->out);
        cr_expect_eq(strncmp(ran->err, "halfcheck: ", 11), 0, "%s: %s", rows[i].line, ran->err);
        cr_expect_not_null(strstr(ran->err, rows[i].text), "%s: %s", rows[i].line, ran->err);
        cr_expect_eq(strchr(ran->err, '\n'), ran->err + strlen(ran->err) - 1, "%s", ran->err);
    }
}

Test(judge_command, a_label_that_is_no_class_is_refused)
{
    write_npy("z.npy", "<f4", "(1, 2)", "\0\0\x80\x3f\0\0\x80\x3f", 8);
    write_npy("label.npy", "<i8", "(1,)", "\7\0\0\0\0\0\0\0", 8);
    write_npy("x.npy", "<f4", "(1,)", "\0\0\x80\x3f", 4);
    const struct ran *ran = run_shell("$hc judge xent --in z.npy --in label.npy --out x.npy");
    cr_expect_eq(ran->status, 2);
    cr_expect_not_null(strstr(ran->err, "label 7 is not a class of 0 to 1"), "%s", ran->err);
}

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
