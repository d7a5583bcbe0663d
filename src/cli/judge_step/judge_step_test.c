/* Steps that halfcheck itself has taken: right as they are, and wrong after an edit of the file. */
#include "cli/judge_step/testing.h"

#include <math.h>

TestSuite(judge_step, .timeout = 60);

static void take_step(const char *recipe)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "$hc train --recipe %s --network darknet-tiny --batch 8 --images 3 --epochs 1"
                   " --dump 1 --out run",
                   recipe);
    const struct ran *ran = run_shell(line);
    cr_assert_neq(ran->status, 2, "%s: %s", recipe, ran->err);
}

static const char path[] = "run/step-1.safetensors";

static void expect_right(const char *recipe)
{
    enter_folder();
    take_step(recipe);
    expect_step_right(path, recipe);
}

Test(judge_step, own_steps_are_right_in_fp32)
{
    expect_right("fp32");
}

Test(judge_step, own_steps_are_right_in_fp64)
{
    expect_right("fp64");
}

Test(judge_step, own_steps_are_right_with_masters_and_a_scale)
{
    expect_right("amp");
}

Test(judge_step, own_steps_are_right_in_bf16)
{
    expect_right("amp-bf16");
}

Test(judge_step, own_steps_are_right_with_sgd)
{
    expect_right("apex-O2 --set optimizer=sgd --set decay=l2");
}

Test(judge_step, own_steps_are_right_with_rates_and_decays_of_layer_groups)
{
    expect_right("amp --set group_rates=0.1,0.5,1 --set group_decays=0,0.1,0.01");
}

static void forget_network(struct hc_tensor_file *file)
{
    for (int i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, "network") == 0)
            file->metadata[i] = (struct hc_metadata){"network", "resnet50"};
}

Test(judge_step, of_a_network_that_is_not_known_the_optimizers_step_is_judged)
{
    enter_folder();
    take_step("amp");
    edit_step(path, path, forget_network);
    const struct ran *ran = run_shell("$hc judge-step run/step-1.safetensors");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "an optimizer's step of 32 parameters"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "163 claims are right, 0 wrong, 0 not judged"), "%s",
                       ran->out);
}

Test(judge_step, a_step_that_overflows_is_left_out)
{
    expect_right("amp --set loss_scale=16777216");
}

static void keep_old_copy(struct hc_tensor_file *file)
{
    const struct hc_tensor *old = step_tensor(file, "weights.2.inner.1.0.weight");
    struct hc_tensor *copy = step_tensor(file, "after.weights.2.inner.1.0.weight");
    memcpy(copy->data, old->data, hc_tensor_bytes(old));
}

static void make_masters_stale(struct hc_tensor_file *file)
{
    struct hc_tensor *master = step_tensor(file, "masters.3.0.weight");
    for (int64_t i = 0; i < hc_tensor_count(master); i++)
        hc_tensor_set(master, i, hc_tensor_get(master, i) + 0x1p-6);
}

static void forget_scale(struct hc_tensor_file *file)
{
    for (int i = 0; i < file->count; i++) {
        char name[96];
        if (strncmp(file->tensors[i].name, "unscaled.", 9) != 0)
            continue;
        (void)snprintf(name, sizeof name, "gradients.%s", file->tensors[i].name + 9);
        const struct hc_tensor *from = step_tensor(file, name);
        for (int64_t k = 0; k < hc_tensor_count(from); k++)
            hc_tensor_set(&file->tensors[i].tensor, k, hc_tensor_get(from, k));
    }
}

static void grow_scale(struct hc_tensor_file *file)
{
    struct hc_tensor *after = step_tensor(file, "after.scale");
    hc_tensor_set(after, 0, 2 * hc_tensor_get(after, 0));
}

static void spoil_logits(struct hc_tensor_file *file)
{
    struct hc_tensor *logits = step_tensor(file, "logits");
    hc_tensor_set(logits, 7, hc_tensor_get(logits, 7) * 1.01 + 0x1p-6);
}

/* The next master is one step further on its way, and the model's copy with it: one parameter's
   rate was twice the others'. */
static void step_twice_as_far(struct hc_tensor_file *file)
{
    const struct hc_tensor *before = step_tensor(file, "masters.3.0.weight");
    struct hc_tensor *after = step_tensor(file, "after.masters.3.0.weight");
    struct hc_tensor *copy = step_tensor(file, "after.weights.3.0.weight");
    for (int64_t i = 0; i < hc_tensor_count(after); i++) {
        double w = hc_tensor_get(before, i);
        hc_tensor_set(after, i, w + 2 * (hc_tensor_get(after, i) - w));
        hc_tensor_set(copy, i, hc_tensor_get(after, i));
    }
}

Test(judge_step, it_says_where_a_step_goes_wrong_first)
{
    static const struct {
        void (*edit)(struct hc_tensor_file *file);
        const char *where;
        const char *why;
    } rows[] = {
        {keep_old_copy, "update stage, at 2.inner.1.0.weight: copy of the master",
         "the model still has its old copy"},
        {make_masters_stale, "before stage, at 3.0.weight: copy of the master", "beyond the bound"},
        {forget_scale, "unscale stage, at 0.0.weight", "were not divided by the scale"},
        {grow_scale, "scale stage", "the rule torch says otherwise"},
        {spoil_logits, "forward stage, at 9: linear", "element 7"},
        {step_twice_as_far, "update stage, at 3.0.weight: master",
         "in 1 of 32 parameters, where the others are right"},
    };
    enter_folder();
    take_step("amp");
    cr_assert_eq(run_shell("cp run/step-1.safetensors kept")->status, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(run_shell("cp kept run/step-1.safetensors")->status, 0);
        edit_step(path, path, rows[i].edit);
        expect_step_wrong(path, rows[i].where, rows[i].why);
    }
}

/* PyTorch's default on a GPU. It concerns inputs in fp32, and those of this layer are in half. */
static void lose_a_term(struct hc_tensor_file *file)
{
    struct hc_tensor *t = step_tensor(file, "gradients.6.inner.1.0.weight");
    int64_t least = 0;
    double most = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double x = fabs(hc_tensor_get(t, i));
        most = fmax(most, x);
        least = x < fabs(hc_tensor_get(t, least)) ? i : least;
    }
    /* Some thirty bounds of a sum in fp32 of 48 terms, and less than one of tf32's. */
    hc_tensor_set(t, least, hc_tensor_get(t, least) + most * 0x1p-11);
    for (int i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, "producer") == 0)
            file->metadata[i] = (struct hc_metadata){"tf32", "1"};
}

Test(judge_step, what_was_in_half_is_not_explained_by_tf32)
{
    enter_folder();
    take_step("amp");
    edit_step(path, path, lose_a_term);
    expect_step_wrong(path, "backward stage, at 6.inner.1", "times the bound");
    cr_expect_eq(
        run_shell("$hc judge-step run/step-1.safetensors --accumulator 24,16,2,cut")->status, 1);
    const struct ran *ran = run_shell("$hc judge-step run/step-1.safetensors --accumulator 11,1");
    cr_expect_null(strstr(ran->out, "in the backward stage"), "%s", ran->out);
    expect_refusal("$hc judge-step run/step-1.safetensors --accumulator 3", "--accumulator takes");
}

static void change_shape(struct hc_tensor_file *file)
{
    struct hc_tensor *t = step_tensor(file, "activations.3.0");
    t->shape[1] /= 2;
    t->shape[2] *= 2;
}

static void spoil_label(struct hc_tensor_file *file)
{
    hc_tensor_set_bits(step_tensor(file, "batch.labels"), 1, 10);
}

static void forget_version(struct hc_tensor_file *file)
{
    file->metadata_count = 0;
}

Test(judge_step, files_that_are_no_step_are_refused_in_a_line)
{
    static const struct {
        void (*edit)(struct hc_tensor_file *file);
        const char *word;
    } rows[] = {{change_shape, "activations.3.0"},
                {spoil_label, "batch.labels"},
                {forget_version, "halfcheck.step"}};
    enter_folder();
    take_step("fp32");
    cr_assert_eq(run_shell("cp run/step-1.safetensors kept")->status, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(run_shell("cp kept run/step-1.safetensors")->status, 0);
        edit_step(path, path, rows[i].edit);
        expect_refusal("$hc judge-step run/step-1.safetensors", rows[i].word);
    }
    expect_refusal("$hc judge-step nowhere", "nowhere");
    expect_refusal("$hc judge-step", "one step file");
    expect_refusal("head -c 9999 kept > cut; $hc judge-step cut", "cut");
}

/* judge-step has no bounds for convolutions of codes. */
Test(judge_step, a_quantised_step_is_refused_in_a_line)
{
    enter_folder();
    take_step("fp8-te-delayed");
    expect_refusal("$hc judge-step run/step-1.safetensors", "te-delayed");
}

static void forget_backward(struct hc_tensor_file *file)
{
    for (int i = 0; i < file->count; i++)
        if (strncmp(file->tensors[i].name, "activation_gradients.", 21) == 0)
            file->tensors[i--] = file->tensors[--file->count];
}

Test(judge_step, what_is_absent_is_not_judged_and_that_is_said)
{
    enter_folder();
    take_step("fp32");
    edit_step(path, path, forget_backward);
    const struct ran *ran = run_shell("$hc judge-step --json - run/step-1.safetensors");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "\"verdict\": \"not judged\""), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "the file lacks"), "%s", ran->out);
}
