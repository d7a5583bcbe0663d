/* The command judge: tensors from files, what it says of them, and the case that it keeps. */
#include "cli/testing.h"

#include <jansson.h>
#include <math.h>

#include "backend.h"
#include "check/run_call.h"
#include "op/descriptor.h"
#include "tensor_file/tensor_file.h"

TestSuite(judge_command, .init = enter_folder);

/* Small numbers with few bits, of both signs. */
static void fill(const struct hc_tensor *t, int seed)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, (double)((i * 37 + seed) % 101 - 50) / 16);
}

static void *memory(const struct hc_tensor *t)
{
    void *data = aligned_alloc(64, (hc_tensor_bytes(t) + 64) / 64 * 64);
    cr_assert_not_null(data);
    return memset(data, 0, hc_tensor_bytes(t));
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

/* Version 1 of .npy, its header padded with blanks. */
static void write_npy(const char *path, const char *descr, const char *shape, const void *data,
                      size_t bytes)
{
    unsigned char file[512];
    memcpy(file, "\x93NUMPY\1\0\x76\0", 10);
    memset(file + 10, ' ', 118);
    int length = snprintf((char *)file + 10, 118,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    file[10 + length] = ' ';
    memcpy(file + 128, data, bytes);
    FILE *out = fopen(path, "wb");
    cr_assert(out && fwrite(file, 1, 128 + bytes, out) == 128 + bytes && fclose(out) == 0);
}

static void prints(const char *line, int status, const char *const *texts)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %d\n%s%s", line, ran->status, ran->out, ran->err);
    for (; *texts; texts++)
        cr_expect_not_null(strstr(ran->out, *texts), "%s: '%s' in\n%s", line, *texts, ran->out);
}

Test(judge_command, both_layouts_of_a_right_convolution_pass)
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

/* y[1, 2, 3, 5] in PyTorch's layout is 2 ulp off; bf16 allows little more than half of one. */
Test(judge_command, two_ulp_of_bf16_fail_and_are_kept)
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

/* The new m is 0.9 m + 0.1 g, in fp32: fl(fl(0.9 m) + fl(0.1 g)). It is 5.4 u (0.1 g) from the real
   value with fp32's 0.9, whose 1 - 0.9 is 4 u larger, and nothing in fp32 errs by more than 5. */
Test(judge_command, beta1_may_be_as_it_was_given_or_as_fp32)
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
    const char *const none[] = {"PASS  adam\n\nnew_m", NULL};
    prints("$hc judge adam --in zero.npy --in zero.npy --in zero.npy --in zero.npy --set lr=0.5 "
           "--set beta1=0.5 --out new_m=zero.npy",
           0, none);
}

/* A slope or alpha of 0.1 may be the number that was given, or fp32's 0.1, which is larger: with
   y = -fp32's 0.1 the sum is 0, or -1.49e-9. 1.3e-8 is neither. 0.1 * x lies just below the middle
   of two neighbours, and fp32's 0.1 * x above it: both are right. */
Test(judge_command, alpha_and_slope_may_be_as_they_were_given)
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

/* docs/pipe/program.c computes axpy. A wrong result of another program is no result of this one. */
Test(judge_command, a_kept_case_runs_on_a_program_behind_a_pipe)
{
    const float x[] = {1, 2, 3};
    const float wrong[] = {2, 9, 6};
    write_npy("x.npy", "<f4", "(3,)", x, 12);
    write_npy("wrong.npy", "<f4", "(3,)", wrong, 12);
    const char *const fails[] = {"FAIL  axpy", "real      4", NULL};
    prints("$hc judge axpy --in x.npy --in x.npy --out wrong.npy --keep k", 1, fails);
    const struct ran *ran = run_shell("cc -std=gnu11 -O1 -ffp-contract=off -o program '" HC_SOURCE
                                      "/docs/pipe/program.c' -lm");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    const char *const passes[] = {"PASS  axpy on pipe:./program\n", "got       4\n", NULL};
    prints("$hc judge k --backend pipe:./program", 0, passes);
    ran = run_shell("$hc judge k --backend pipe:./none");
    cr_expect_eq(ran->status, 2);
    cr_expect_eq(strncmp(ran->err, "halfcheck: ", 11), 0, "%s", ran->err);
}

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

Test(judge_command, factors_that_a_backend_flushes_are_counted_and_prove_nothing)
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
Test(judge_command, a_kept_case_has_the_factors_that_count_as_0)
{
    const char *const fails[] = {"FAIL  gemm on pipe:", "subnormal factors count as 0", NULL};
    write_text("f.py", flushing);
    write_subnormal("none", 0);
    cr_assert_eq(setenv("SILENT", "1", 1), 0);
    prints("$hc judge gemm --tensors none --backend 'pipe:python3 f.py' --keep k", 1, fails);
    prints("$hc judge k --backend 'pipe:python3 f.py'", 1, fails);
}

/* The last two columns of one image are wrong, and a long line can be pasted. */
Test(judge_command, where_the_wrong_elements_lie_is_said_in_lines_that_can_be_pasted)
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
