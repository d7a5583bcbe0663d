/* A convolution judged in both layouts: what is wrong, where it lies, and the case kept of it. */
#include "cli/judge/testing.h"

#include <jansson.h>

#include "backend.h"
#include "check/run_call.h"
#include "tensor_file/tensor_file.h"

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
