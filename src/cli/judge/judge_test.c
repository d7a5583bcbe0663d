/* The command judge: tensors from files, and what it says of them. */
#include <jansson.h>
#include <math.h>

#include "cli/judge/testing.h"
#include "num/format.h"
#include "num/rng.h"
#include "tensor_file/tensor_file.h"
#include "backend.h"
#include "check/run_call.h"
#include "op/descriptor.h"

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

/* Numbers of a question that may be meant as they were given or as fp32 holds them. */

TestSuite(judge_numbers, .init = enter_folder);

/* The new m is 0.9 m + 0.1 g, in fp32: fl(fl(0.9 m) + fl(0.1 g)). It is 5.4 u (0.1 g) from the real
   value with fp32's 0.9, whose 1 - 0.9 is 4 u larger, and nothing in fp32 errs by more than 5. */
Test(judge_numbers, beta1_may_be_as_it_was_given_or_as_fp32)
{
    const float zero[] = {0};
    const float m[] = {0x1.8d07f6p-10F};
    const float g[] = {0x1.4347a4p+3F};
    const float given = 0x1.02f90ap0F;
    const float rounded = 0x1.02f910p0F;
    const float wrong[] = {0x1.02f918p0F, 0x1.02f900p0F};
    const char *line = "$hc judge adam --in zero.npy --in g.npy --in m.npy --in zero.npy "
                       "--set lr=0.5 --set beta1=0.9 --out new_m=%s";
    char command[512];
    write_npy("zero.npy", "<f4", "(1,)", zero, 4);
    write_npy("g.npy", "<f4", "(1,)", g, 4);
    write_npy("m.npy", "<f4", "(1,)", m, 4);
    write_npy("given.npy", "<f4", "(1,)", &given, 4);
    write_npy("rounded.npy", "<f4", "(1,)", &rounded, 4);
    (void)snprintf(command, sizeof command, line, "given.npy");
    const char *const as_given[] = {"PASS  adam", "\nbeta1 as given\n", "hyper.beta1 = 0.9,", NULL};
    prints(command, 0, as_given);
    (void)snprintf(command, sizeof command, line, "rounded.npy");
    const char *const as_fp32[] = {"PASS  adam", "\nbeta1 as fp32\n", NULL};
    prints(command, 0, as_fp32);
    (void)snprintf(command, sizeof command, line, "wrong.npy --keep k --json judged.json");
    for (int i = 0; i < 2; i++) {
        write_npy("wrong.npy", "<f4", "(1,)", &wrong[i], 4);
        const char *const fails[] = {"FAIL  adam", "it fails under the other reading, too", NULL};
        prints(command, 1, fails);
        prints("$hc judge k", 1, fails);
    }
    const struct ran *ran = run_shell("grep -q '\"numbers\": \"as' judged.json");
    cr_expect_eq(ran->status, 0);
    const char *const none[] = {"arithmetic=fp32 (default)\n\nnew_m", NULL};
    prints("$hc judge adam --in zero.npy --in zero.npy --in zero.npy --in zero.npy --set lr=0.5 "
           "--set beta1=0.5 --out new_m=zero.npy",
           0, none);
}

/* A slope or alpha of 0.1 may be the number that was given, or fp32's 0.1, which is larger: with
   y = -fp32's 0.1 the sum is 0, or -1.49e-9. 1.3e-8 is neither. 0.1 * x lies just below the middle
   of two neighbours, and fp32's 0.1 * x above it: both are right. */
Test(judge_numbers, alpha_and_slope_may_be_as_they_were_given)
{
    const float one[] = {1};
    const float y[] = {-0.1F};
    const float sums[] = {0, (float)(0.1 - (double)0.1F), 1.3e-8F};
    write_npy("one.npy", "<f4", "(1,)", one, 4);
    write_npy("y.npy", "<f4", "(1,)", y, 4);
    const char *const none[] = {NULL};
    for (int i = 0; i < 3; i++) {
        write_npy("out.npy", "<f4", "(1,)", &sums[i], 4);
        prints("$hc judge axpy --in one.npy --in y.npy --out out.npy --set alpha=0.1", i == 2,
               none);
    }
    prints("$hc judge axpy --in one.npy --in y.npy --out out.npy --set alpha=0x1.99999ap-4", 1,
           none);
    int differ = 0;
    for (int i = 1; i < 100 && differ < 2; i++) {
        const float x[] = {-1 - (float)i * 0x1p-23F};
        const float single[] = {(float)((double)x[0] * (double)0.1F)};
        const float given[] = {(float)((double)x[0] * 0.1)};
        const float beside[] = {nextafterf(given[0], given[0] > single[0] ? 0 : -1)};
        if (single[0] == given[0])
            continue;
        differ++;
        write_npy("x.npy", "<f4", "(1,)", x, 4);
        write_npy("single.npy", "<f4", "(1,)", single, 4);
        write_npy("given.npy", "<f4", "(1,)", given, 4);
        write_npy("beside.npy", "<f4", "(1,)", beside, 4);
        prints("$hc judge leaky_relu --in x.npy --out single.npy --set slope=0.1", 0, none);
        prints("$hc judge leaky_relu --in x.npy --out given.npy --set slope=0.1", 0, none);
        prints("$hc judge leaky_relu --in x.npy --out given.npy --set slope=0x1.99999ap-4", 1,
               none);
        prints("$hc judge leaky_relu --in x.npy --out beside.npy --set slope=0.1", 1, none);
    }
    cr_expect_gt(differ, 0);
}

/* In fp64 fp32's -0.3 is another number: -0.3 * 3 is 1.2e-8 from fp32's -0.3 * 3, which no
   rounding of fp64 explains. Both are right, and nothing between them is. So it is with a slope,
   and with the eps and the momentum of a norm. */
Test(judge_numbers, in_fp64_parameters_may_be_as_they_were_given_or_as_fp32)
{
    const double zero[] = {0};
    const double c[] = {3};
    const double sums[] = {-0.3 * 3, (double)-0.3F * 3, 0};
    const char *const rows[][3] = {{"PASS  gemm", "\nbeta as given\n", NULL},
                                   {"PASS  gemm", "\nbeta as fp32\n", NULL},
                                   {"FAIL  gemm", "it fails under the other reading, too", NULL}};
    write_npy("zero.npy", "<f8", "(1,1)", zero, 8);
    write_npy("c.npy", "<f8", "(1,1)", c, 8);
    for (int i = 0; i < 3; i++) {
        double sum = i < 2 ? sums[i] : (sums[0] + sums[1]) / 2;
        write_npy("out.npy", "<f8", "(1,1)", &sum, 8);
        prints("$hc judge gemm --in zero.npy --in zero.npy --in c.npy --out out.npy "
               "--set beta=-0.3",
               i == 2, rows[i]);
    }
    const double x[] = {-3};
    const double one[] = {1};
    const double leaked[] = {-3 * 0.1, -3 * (double)0.1F, -3 * 0.1000000005};
    const double mean[] = {0.1, (double)0.1F, 0.1000000005};
    const char *const none[] = {NULL};
    write_npy("x.npy", "<f8", "(1,)", x, 8);
    write_npy("one.npy", "<f8", "(1,)", one, 8);
    write_npy("nought.npy", "<f8", "(1,)", zero, 8);
    write_npy("image.npy", "<f8", "(1,1,1,1)", one, 8);
    for (int i = 0; i < 3; i++) {
        write_npy("leaked.npy", "<f8", "(1,)", &leaked[i], 8);
        write_npy("mean.npy", "<f8", "(1,)", &mean[i], 8);
        prints("$hc judge leaky_relu --in x.npy --out leaked.npy --set slope=0.1", i == 2, none);
        prints("$hc judge bn_train --in x=image.npy --in gamma=one.npy --in beta=one.npy "
               "--in mean=nought.npy --in variance=one.npy --out new_mean=mean.npy "
               "--set momentum=0.1",
               i == 2, none);
    }
}

/* A convolution judged in both layouts: what is wrong, where it lies, and the case kept of it. */

TestSuite(judge_layouts, .init = enter_folder);

/* Small numbers with few bits, of both signs. */
static void fill(const struct hc_tensor *t, int seed)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, (double)((i * 37 + seed) % 101 - 50) / 16);
}

/* conv2d of x [2, 7, 6, 3] with 4 filters of 3 x 3, pad 1, as `host` computes it. */
static struct hc_call convolution(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_conv2d, .params.conv = {.stride = 1, .pad = 1}};
    const struct hc_backend *host = hc_backend_by_name("host");
    struct hc_queue *queue;
    struct hc_breach breach;
    call.in[HC_CONV_X] = hc_tensor4(format, 2, 7, 6, 3, NULL);
    call.in[HC_CONV_W] = hc_tensor4(format, 4, 3, 3, 3, NULL);
    call.out[HC_CONV_Y] = hc_tensor4(format, 2, 7, 6, 4, NULL);
    call.in[HC_CONV_X].data = memory(&call.in[HC_CONV_X]);
    call.in[HC_CONV_W].data = memory(&call.in[HC_CONV_W]);
    call.out[HC_CONV_Y].data = memory(&call.out[HC_CONV_Y]);
    fill(&call.in[HC_CONV_X], 1);
    fill(&call.in[HC_CONV_W], 2);
    cr_assert_eq(host->open(host, &queue, 1), HC_OK);
    cr_assert_eq(hc_run_call(host, queue, &call, &breach), HC_OK, "%s", hc_message());
    host->close(queue);
    return call;
}

static struct hc_tensor channels_first(const struct hc_tensor *t)
{
    const int64_t *n = t->shape;
    struct hc_tensor to = hc_tensor4(t->format, n[0], n[3], n[1], n[2], NULL);
    to.data = memory(&to);
    hc_tensor_to_nchw(t, &to);
    return to;
}

static void write_tensors(const char *path, const struct hc_call *call, bool nchw)
{
    struct hc_tensor x = call->in[HC_CONV_X];
    struct hc_tensor w = call->in[HC_CONV_W];
    struct hc_tensor y = call->out[HC_CONV_Y];
    const struct hc_named_tensor tensors[] = {
        {.name = "x", .tensor = nchw ? channels_first(&x) : x},
        {.name = "w", .tensor = nchw ? channels_first(&w) : w},
        {.name = "y", .tensor = nchw ? channels_first(&y) : y},
    };
    cr_assert_eq(hc_safetensors_write(path, tensors, 3, NULL, 0), HC_OK, "%s", hc_message());
}

Test(judge_layouts, both_layouts_of_a_right_convolution_pass)
{
    struct hc_call call = convolution(HC_BF16);
    write_tensors("nchw", &call, true);
    write_tensors("nhwc", &call, false);
    const char *const first[] = {
        "PASS  conv2d", "y, bf16 [2, 4, 7, 6]: 0 of 336 elements are wrong", "Whose error?", NULL};
    const char *const last[] = {"y, bf16 [2, 7, 6, 4]: 0 of 336", NULL};
    prints("$hc judge conv2d --tensors nchw --set pad=1", 0, first);
    prints("$hc judge conv2d --in x=nchw --in nchw:w --out nchw --set pad=1", 0, first);
    prints("$hc judge conv2d --tensors nhwc --set pad=1 --layout nhwc", 0, last);
    cr_expect_neq(run_shell("$hc judge conv2d --tensors nhwc --set pad=1")->status, 0);
}

/* y[1, 2, 3, 5] in PyTorch's layout is 2 ulp off; bf16 allows little more than half of one. */
Test(judge_layouts, two_ulp_of_bf16_fail_and_are_kept)
{
    struct hc_call call = convolution(HC_BF16);
    int64_t index = ((1 * 7 + 3) * 6 + 5) * 4 + 2;
    uint64_t bits = hc_tensor_bits(&call.out[HC_CONV_Y], index);
    hc_tensor_set_bits(&call.out[HC_CONV_Y], index, bits + 2);
    write_tensors("t", &call, true);
    const char *const whole[] = {"FAIL  conv2d", "1 of 336 elements is wrong",
                                 "wrong     y[1, 2, 3, 5]", "The implementation's", NULL};
    prints("$hc judge conv2d --tensors t --set pad=1 --keep k --json whole.json", 1, whole);
    const char *const unkept[] = {"FAIL  conv2d", "wrong     y[1, 2, 3, 5]", NULL};
    prints("$hc judge conv2d --tensors t --set pad=1 --keep /dev/full", 2, unkept);
    const char *const kept[] = {"FAIL  conv2d", "wrong     y[0, 0,", "again     halfcheck judge k",
                                NULL};
    prints("$hc judge k --json small.json", 1, kept);
    const char *const host[] = {"PASS  conv2d on host", NULL};
    prints("$hc judge k --backend host", 0, host);
    json_t *one = json_load_file("whole.json", 0, NULL);
    json_t *two = json_load_file("small.json", 0, NULL);
    const char *const same[] = {"want", "got", "ulps", "error"};
    json_t *w = json_object_get(json_array_get(json_object_get(one, "outputs"), 0), "worst");
    json_t *s = json_object_get(json_array_get(json_object_get(two, "outputs"), 0), "worst");
    for (int i = 0; i < 4; i++)
        cr_expect(w && json_equal(json_object_get(w, same[i]), json_object_get(s, same[i])), "%s",
                  same[i]);
    double ulps = json_real_value(json_object_get(w, "ulps"));
    cr_expect(ulps >= 1.5 && ulps <= 2.5, "%g", ulps);
    cr_expect_str_eq(json_string_value(json_object_get(one, "repro")), "halfcheck judge k");
    json_decref(one);
    json_decref(two);
}

/* The last two columns of one image are wrong, and a long line can be pasted. */
Test(judge_layouts, where_the_wrong_elements_lie_is_said_in_lines_that_can_be_pasted)
{
    struct hc_call call = convolution(HC_FP16);
    for (int i = 0; i < 7 * 6 * 4; i++)
        if (i / 4 % 6 >= 4)
            hc_tensor_set(&call.out[HC_CONV_Y], 7 * 6 * 4 + i, 1000);
    write_tensors("some 'tensors' in a file", &call, true);
    const char *const where[] = {"  where     image 1, the last 2 columns\n", NULL};
    prints("$hc judge conv2d --tensors \"some 'tensors' in a file\" --set pad=1 --set stride=1 "
           "--layout nchw --json j > said",
           1, (const char *const[]){NULL});
    prints("cat said", 0, where);
    prints("grep -q '\"where\": \"image 1, the last 2 columns\"' j", 0,
           (const char *const[]){NULL});
    prints("awk '/again/ { more = 4 } length > 76 + more' said | grep . && exit 1; exit 0", 0,
           (const char *const[]){NULL});
    prints("sed -n '/again/,$p' said | sed 's/  again *//' > again; wc -l < again", 0,
           (const char *const[]){"2", NULL});
    prints("halfcheck() { $hc \"$@\"; }; . ./again", 1, where);
}

/* Codes that files have no type for: bytes whose format the command says. */

TestSuite(judge_codes, .init = enter_folder);

#define LINE                                                                                       \
    "$hc judge dequantize --in codes=codes.npy --in scales=scales.npy --out y=y.npy "              \
    "--set rows=1 --set columns=16"

/* e2m1's sixteen numbers times 1.5, which is 3c in ue4m3 and in e4m3. */
static void write_block(unsigned char code, unsigned char scale, float last)
{
    unsigned char codes[16];
    float y[16] = {0, 0.75F, 1.5F, 2.25F, 3, 4.5F, 6, 9};
    for (int i = 0; i < 16; i++)
        codes[i] = (unsigned char)i;
    for (int i = 8; i < 16; i++)
        y[i] = -y[i - 8];
    codes[15] = code;
    y[15] = last;
    write_npy("codes.npy", "|u1", "(1, 16)", codes, sizeof codes);
    write_npy("scales.npy", "|u1", "(1, 1)", &scale, 1);
    write_npy("y.npy", "<f4", "(1, 16)", y, sizeof y);
}

Test(judge_codes, bytes_are_codes_of_the_format_that_is_set)
{
    const char *const passes[] = {"PASS  dequantize", NULL};
    const char *const fails[] = {"FAIL  dequantize", "y[0, 15]", NULL};
    write_block(15, 0x3c, -9);
    prints(LINE " --set codes=e2m1 --set scales=ue4m3", 0, passes);
    prints(LINE " --set scales=ue4m3 --set codes=e2m1", 0, passes);
    write_block(15, 0x3c, 9);
    prints(LINE " --set codes=e2m1 --set scales=ue4m3 --keep kept", 1, fails);
    const char *const again[] = {"FAIL  dequantize", NULL};
    prints("$hc judge kept", 1, again);
}

/* The codes of zeros are 0, as are the scale and the tensor's amax: an amax of 9 is wrong, and the
   codes must be kept, too, since their shape says what is computed. */
Test(judge_codes, a_wrong_amax_is_kept_with_the_codes_that_it_belongs_to)
{
    const unsigned char zeros[16] = {0};
    const float x[16] = {0}, amax = 9;
    const char *const fails[] = {"FAIL  quantize", "amax[0]", NULL};
    write_npy("x.npy", "<f4", "(1, 16)", x, sizeof x);
    write_npy("codes.npy", "|u1", "(1, 16)", zeros, sizeof zeros);
    write_npy("scales.npy", "|u1", "(1, 1)", zeros, 1);
    write_npy("amax.npy", "<f4", "(1,)", &amax, 4);
    prints("$hc judge quantize --in x=x.npy --out codes=codes.npy --out scales=scales.npy "
           "--out amax=amax.npy --set rule=nvfp4-te --set columns=16 --set rows=1 "
           "--set codes=e2m1 --set scales=ue4m3 --keep kept",
           1, fails);
    prints("$hc judge kept", 1, fails);
}

/* A report says by which rule it judged, and that nobody has named it. */
Test(judge_codes, the_rule_is_told_whether_it_was_named_or_not)
{
    const unsigned char codes[16] = {0}, scales[4] = {0, 0, 0x80, 0x3f};
    const float x[16] = {0};
    const char *const usual[] = {"PASS  quantize\n  with      rule=te-current (default)\n", NULL};
    const char *const named[] = {"FAIL  quantize\n  with      rule=torchao, columns=16\n", NULL};
    const char *const json[] = {"\"params\": {", "\"rule\": \"te-current\"", "\"columns\": 0",
                                NULL};
    write_npy("x.npy", "<f4", "(1, 16)", x, sizeof x);
    write_npy("codes.npy", "|u1", "(1, 16)", codes, sizeof codes);
    write_npy("scales.npy", "<f4", "(1, 1)", scales, sizeof scales);
#define QUANTIZE "$hc judge quantize --in x=x.npy --out codes=codes.npy --out scales=scales.npy"
    prints(QUANTIZE " --set codes=e4m3", 0, usual);
    prints(QUANTIZE " --set codes=e4m3 --json -", 0, json);
    prints(QUANTIZE " --set codes=e4m3 --set rule=torchao --set columns=16", 1, named);
    write_npy("scales.npy", "|u1", "(1, 1)", scales, 1);
    expect_refusal(QUANTIZE " --set codes=e4m3 --set scales=e8m0",
                   "te-current is the rule where none is named: --set rule=RULE");
    expect_refusal(QUANTIZE " --set codes=e4m3 --set scales=e8m0 --set rule=torchao",
                   "scales is e8m0, not fp32 as torchao stores them\n");
}

Test(judge_codes, what_is_no_code_of_the_format_is_refused_in_one_line)
{
    write_block(0x1f, 0x3c, -9);
    expect_refusal(LINE " --set codes=e2m1 --set scales=ue4m3",
                   "codes holds 1f at place 15, and a code of e2m1 has 4 bits");
    write_block(15, 0xbc, -9);
    expect_refusal(LINE " --set codes=e2m1 --set scales=ue4m3",
                   "scales holds bc at place 0, and a code of ue4m3 has 7 bits");
    write_block(15, 0x3c, -9);
    expect_refusal(LINE " --set scales=ue4m3", "set codes=FORMAT");
    expect_refusal(LINE " --set codes=e2m7", "'e2m7' is no format of one byte");
    expect_refusal(LINE " --set codes=fp16", "'fp16' is no format of one byte");
    expect_refusal(LINE " --set y=e4m3", "y is fp32, and only bytes can be codes");
    expect_refusal("$hc judge quantize --in x=y.npy --set codes=e2m1",
                   "codes is set to e2m1, but not given");
}

/* A case that judge runs on a program behind a pipe. */

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
