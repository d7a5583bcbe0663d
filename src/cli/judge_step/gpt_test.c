/* Steps of a GPT: right as halfcheck has taken them, and wrong after an edit of the file, which
   says what was done wrong, and where. */
#include "cli/judge_step/testing.h"

#include <math.h>

#include "num/format.h"

TestSuite(gpt, .timeout = 600);

static const char taken[] = "run/step-3.safetensors";
static const char edited[] = "edited.safetensors";

static void take_step(const char *recipe)
{
    char line[300];
    (void)snprintf(
        line, sizeof line,
        "$hc train --recipe %s --network gpt-tiny --batch 2 --epochs 1 --dump 3 --out run", recipe);
    const struct ran *ran = run_shell(line);
    cr_assert_neq(ran->status, 2, "%s: %s", recipe, ran->err);
}

static void expect_right(const char *recipe)
{
    enter_folder();
    take_step(recipe);
    expect_step_right(taken, recipe);
}

Test(gpt, own_steps_are_right_in_fp32)
{
    expect_right("fp32");
}

Test(gpt, own_steps_are_right_in_fp64)
{
    expect_right("fp64");
}

Test(gpt, own_steps_are_right_with_masters_and_a_scale)
{
    expect_right("amp");
}

Test(gpt, own_steps_are_right_in_bf16_throughout)
{
    expect_right("bf16-pure");
}

/* What gpt-tiny is made of. */
enum { TEXTS = 2, LENGTH = 16, HEADS = 2, D = 16, WIDTH = HEADS * D };

static double number(struct hc_tensor_file *file, const char *name, int64_t i)
{
    return hc_tensor_get(step_tensor(file, name), i);
}

/* softmax(q k' scale) v, with the mask of a causal attention or without, in fp64. */
static void attend(struct hc_tensor_file *file, bool causal, double scale)
{
    static const char q[] = "activations.1.attention.q";
    static const char k[] = "activations.1.attention.k";
    static const char v[] = "activations.1.attention.v";
    struct hc_tensor *o = step_tensor(file, "activations.1.attention.o");
    for (int row = 0; row < TEXTS * HEADS * LENGTH; row++) {
        int first = row / LENGTH * LENGTH;
        int last = causal ? row : first + LENGTH - 1;
        double sums[D + 1] = {0};
        for (int key = first; key <= last; key++) {
            double score = 0;
            for (int d = 0; d < D; d++)
                score += number(file, q, row * D + d) * number(file, k, key * D + d);
            double weight = exp(score * scale);
            sums[D] += weight;
            for (int d = 0; d < D; d++)
                sums[d] += weight * number(file, v, key * D + d);
        }
        for (int d = 0; d < D; d++)
            hc_tensor_set(o, row * D + d, sums[d] / sums[D]);
    }
}

static void see_all(struct hc_tensor_file *file)
{
    attend(file, false, 1 / sqrt(D));
}

static void scale_by_d(struct hc_tensor_file *file)
{
    attend(file, true, 1.0 / D);
}

/* Keys as the product made them. */
static void leave_keys(struct hc_tensor_file *file)
{
    struct hc_tensor *k = step_tensor(file, "activations.0.attention.k");
    for (int i = 0; i < TEXTS * HEADS * LENGTH * D; i++) {
        int text = i / (HEADS * LENGTH * D);
        int head = i / (LENGTH * D) % HEADS;
        int t = i / D % LENGTH;
        int from = ((text * LENGTH + t) * 3 + 1) * WIDTH + head * D + i % D;
        hc_tensor_set(k, i, number(file, "activations.0.attention.qkv", from));
    }
}

/* A table in bf16, as models were trained with that were cast as a whole. */
static void round_table(struct hc_tensor_file *file)
{
    struct hc_tensor *t = step_tensor(file, "saved.1.attention.cos");
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, hc_round(HC_BF16, hc_tensor_get(t, i)));
}

/* 1e-6 under the root. */
static void another_eps(struct hc_tensor_file *file)
{
    struct hc_tensor *rstd = step_tensor(file, "saved.0.norm1.rstd");
    for (int row = 0; row < TEXTS * LENGTH; row++) {
        double squares = 0;
        for (int d = 0; d < WIDTH; d++)
            squares += pow(number(file, "activations.tok", row * WIDTH + d), 2);
        hc_tensor_set(rstd, row, 1 / sqrt(squares / WIDTH + 1e-6));
    }
}

static void swap_heads(struct hc_tensor_file *file)
{
    struct hc_tensor *y = step_tensor(file, "activations.0.attention");
    for (int i = 0; i < TEXTS * LENGTH * WIDTH; i += WIDTH)
        for (int d = 0; d < D; d++) {
            double first = hc_tensor_get(y, i + d);
            hc_tensor_set(y, i + d, hc_tensor_get(y, i + D + d));
            hc_tensor_set(y, i + D + d, first);
        }
}

/* The numbers of one tensor into another one. */
static void put(struct hc_tensor_file *file, const char *into, const char *from)
{
    struct hc_tensor *x = step_tensor(file, into);
    for (int64_t i = 0; i < hc_tensor_count(x); i++)
        hc_tensor_set(x, i, number(file, from, i));
}

/* up itself, without silu(gate). */
static void leave_gate_out(struct hc_tensor_file *file)
{
    put(file, "activations.1.mlp", "activations.1.mlp.up");
}

static void forget_a_skip(struct hc_tensor_file *file)
{
    put(file, "activations.1.sum1", "activations.1.proj");
}

static void forget_the_head(struct hc_tensor_file *file)
{
    put(file, "gradients.tok.weight", "shares.tok.weight");
}

static void forget_a_byte(struct hc_tensor_file *file)
{
    struct hc_tensor *dw = step_tensor(file, "shares.tok.weight");
    int64_t byte = (int64_t)number(file, "batch.text", TEXTS * LENGTH - 1);
    for (int d = 0; d < WIDTH; d++)
        hc_tensor_set(dw, byte * WIDTH + d, 0);
}

static void double_dv(struct hc_tensor_file *file)
{
    struct hc_tensor *dv = step_tensor(file, "activation_gradients.0.attention.v");
    for (int64_t i = 0; i < hc_tensor_count(dv); i++)
        hc_tensor_set(dv, i, 2 * hc_tensor_get(dv, i));
}

/* Gradients of keys that are turned forward once more, or not back. */
static void leave_dk(struct hc_tensor_file *file)
{
    struct hc_tensor *dqkv = step_tensor(file, "activation_gradients.0.attention.qkv");
    for (int i = 0; i < TEXTS * HEADS * LENGTH * D; i++) {
        int text = i / (HEADS * LENGTH * D);
        int head = i / (LENGTH * D) % HEADS;
        int t = i / D % LENGTH;
        hc_tensor_set(dqkv, ((text * LENGTH + t) * 3 + 1) * WIDTH + head * D + i % D,
                      number(file, "activation_gradients.0.attention.k", i));
    }
}

static void skip_leaves_no_gradient(struct hc_tensor_file *file)
{
    struct hc_tensor *dx = step_tensor(file, "activation_gradients.0.sum1");
    for (int64_t i = 0; i < hc_tensor_count(dx); i++)
        hc_tensor_set(dx, i, hc_tensor_get(dx, i) - number(file, "activation_gradients.0.sum2", i));
}

static const struct {
    void (*plant)(struct hc_tensor_file *file);
    const char *where; /* as the last paragraph has it */
    const char *why;
} plants[] = {
    {see_all, "forward stage, at 1.attention: attention.", "bytes see those that follow them"},
    {scale_by_d, "forward stage, at 1.attention: attention.", "scaled by 1 / d, and not by"},
    {leave_keys, "forward stage, at 0.attention: keys, turned.", "it is not turned at all"},
    {round_table, "forward stage, at 1.attention: cosines of positions.", "beyond the bound"},
    {another_eps, "forward stage, at 0.norm1: 1 / root mean square.", "its eps is 1e-6"},
    {swap_heads, "forward stage, at 0.attention: heads side by side.", "beyond the bound"},
    {leave_gate_out, "forward stage, at 1.mlp: SwiGLU.", "beyond the bound"},
    {forget_a_skip, "forward stage, at 1.sum1: sum with the skip.", "beyond the bound"},
    {forget_the_head, "backward stage, at tok: both shares of it.", "beyond the bound"},
    {forget_a_byte, "backward stage, at tok: gradient by the bytes.", "beyond the bound"},
    {double_dv, "backward stage, at 0.attention: gradient of values.",
     "every element is 2 times what it should be"},
    {leave_dk, "backward stage, at 0.attention: keys, turned back.", "it is not turned at all"},
    {skip_leaves_no_gradient, "backward stage, at 0.norm2: gradient of the input.",
     "beyond the bound"}};

static void expect_plants_named(const char *recipe)
{
    enter_folder();
    take_step(recipe);
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        edit_step(taken, edited, plants[i].plant);
        expect_step_wrong(edited, plants[i].where, plants[i].why);
    }
}

Test(gpt, a_wrong_step_is_named_by_layer_and_cause_in_fp32)
{
    expect_plants_named("fp32");
}

static void expect_refused(const char *name, double value, const char *why)
{
    struct hc_tensor_file file;
    cr_assert_eq(hc_tensor_file_read(&file, "run/step-3.safetensors"), HC_OK);
    hc_tensor_set(step_tensor(&file, name), 5, value);
    cr_assert_eq(hc_safetensors_write("edited.safetensors", file.tensors, file.count, file.metadata,
                                      file.metadata_count),
                 HC_OK, "%s", hc_message());
    hc_tensor_file_close(&file);
    const struct ran *ran = run_shell("$hc judge-step edited.safetensors");
    cr_expect_eq(ran->status, 2, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->err, why), "%s", ran->err);
}

Test(gpt, bytes_that_are_none_are_refused)
{
    enter_folder();
    take_step("fp32");
    expect_refused("batch.text", 256, "batch.text holds 256, which is none of 256 bytes");
    expect_refused("batch.text", -1, "batch.text holds -1, which is none of 256 bytes");
    expect_refused("batch.labels", 999, "batch.labels holds 999, which is none of 256 bytes");
}

/* Sines in fp64 beside cosines in fp32, whose signs no search for a cause may change. */
static void widen_sines(struct hc_tensor_file *file)
{
    static double wide[LENGTH * D];
    struct hc_tensor *t = step_tensor(file, "saved.0.attention.sin");
    for (int i = 0; i < LENGTH * D; i++)
        wide[i] = hc_tensor_get(t, i);
    *t = hc_tensor2(HC_FP64, LENGTH, D, wide);
}

Test(gpt, tables_of_two_formats_turn_nothing)
{
    enter_folder();
    take_step("fp32");
    edit_step(taken, edited, widen_sines);
    const struct ran *ran = judge_step(edited);
    cr_expect_not_null(strstr(ran->out, " 4 not judged"), "%s%s", ran->out, ran->err);
}
