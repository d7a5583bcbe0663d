/* A GPT in fp64 against trainings that another program did (vectors/gpt.txt: 20 steps by PyTorch,
   in fp64): the loss of each step, and the norm of each parameter's gradient at the first. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "num/sha256.h"
#include "train/data/data.h"
#include "train/net/net_inner.h"
#include "train/update/recipe_fields.h"
#include "train/update/update.h"

enum { STEPS = 20, BATCH = 4, SEED = 7, NAMES = 64, TEXT = 1 << 20 };

static uint8_t text[TEXT];

struct trajectory {
    int norms;
    char name[NAMES][32];
    double norm[NAMES];
    double loss[STEPS];
    double all[STEPS]; /* the norm of all gradients, before they are clipped */
};

static void read_trajectory(const struct hc_gpt *gpt, struct trajectory *t)
{
    char which[32];
    char line[512];
    bool mine = false;
    FILE *file = fopen(HC_SOURCE "/src/train/net/vectors/gpt.txt", "r");
    cr_assert(file);
    (void)snprintf(which, sizeof which, "%s tied=%d", gpt->like_gpt2 ? "gpt2" : "llama", gpt->tied);
    memset(t, 0, sizeof *t);
    while (fgets(line, sizeof line, file)) {
        int step;
        double loss;
        double all;
        if (strncmp(line, "trajectory", 10) == 0)
            mine = strstr(line, which) != NULL;
        else if (mine &&
                 sscanf(line, "gradnorm %31s %la", t->name[t->norms], &t->norm[t->norms]) == 2)
            t->norms++;
        else if (mine && sscanf(line, "step %d loss %la gradnorm %la", &step, &loss, &all) == 3) {
            t->loss[step - 1] = loss;
            t->all[step - 1] = all;
        }
    }
    (void)fclose(file);
}

Test(gpt, has_as_many_parameters_as_its_makers_say)
{
    struct hc_plan plan;
    hc_plan_make(&hc_gpt_small, 0, &plan);
    cr_expect_eq(plan.weights + plan.norm_weights, 836736);
    hc_plan_make(&hc_gpt_tiny, 0, &plan);
    cr_expect_eq(plan.weights + plan.norm_weights, 33440);
    hc_plan_make(&hc_gpt2_tiny, 0, &plan);
    cr_expect_eq(plan.weights + plan.norm_weights, 33600);
}

Test(gpt, reads_the_text_that_others_read)
{
    char hex[HC_SHA256_TEXT];
    hc_text_make(1, TEXT, text);
    cr_expect_eq(memcmp(text, "tvwho csdr lhqzjp lhqzjp wuvcsv caulti kp ", 42), 0);
    struct hc_sha256 hash;
    hc_sha256_start(&hash);
    hc_sha256_add(&hash, text, TEXT);
    hc_sha256_end(&hash, hex);
    cr_expect_str_eq(hex, "001c327b3f438e327b986d4413f86834e227c49cce2e3553f3d8671bbcffb5a7");
}

struct model {
    struct hc_device device;
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_net *net;
    struct hc_update *update;
};

static void open_model(struct model *m, const struct hc_network *network)
{
    memset(m, 0, sizeof *m);
    m->device.backend = hc_backend_by_name("exact");
    cr_assert_eq(hc_recipe_read_for(network, &m->recipe, m->name, "fp64", 4), HC_OK, "%s",
                 hc_message());
    cr_assert_eq(m->device.backend->open(m->device.backend, &m->device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&m->net, &m->device, network, 0, BATCH, SEED), HC_OK);
    cr_assert_eq(hc_model_open(&m->update, &m->device, m->net, &m->recipe), HC_OK, "%s",
                 hc_message());
}

static void close_model(struct model *m)
{
    hc_update_close(m->update);
    hc_net_close(m->net);
    hc_device_end(&m->device);
    m->device.backend->close(m->device.queue);
}

/* The loss of a step, whose batch is that of the text. */
static double pass(struct model *m, int step, int length)
{
    int32_t bytes[BATCH * 16];
    int32_t labels[BATCH * 16];
    float rounded;
    int right;
    struct hc_text all = {.bytes = TEXT, .trained = TEXT, .byte = text};
    struct hc_tensor scale = hc_update_scale(m->update);
    for (int i = 0; i < BATCH * length; i++) {
        const uint8_t *piece = hc_text_piece(&all, true, SEED, step * BATCH + i / length, length);
        bytes[i] = piece[i % length];
        labels[i] = piece[i % length + 1];
    }
    cr_assert_eq(hc_net_train(m->net, bytes, labels, &scale, &rounded, &right), HC_OK, "%s",
                 hc_message());
    return ((const double *)m->net->wide_report->data)[HC_WIDE_LOSS];
}

static double norm_of(struct model *m, int p)
{
    struct hc_tensor g = hc_update_tensor(m->update, HC_STATE_GRADIENT, p);
    double sum = 0;
    for (int64_t i = 0; i < hc_tensor_count(&g); i++)
        sum += hc_tensor_get(&g, i) * hc_tensor_get(&g, i);
    return sqrt(sum);
}

static void expect_near(double want, double got, double most, const char *what, int step)
{
    double error = fabs(got - want) / fabs(want);
    cr_expect_leq(error, most, "%s, step %d: want %.15g, got %.15g, relative error %g", what, step,
                  want, got, error);
}

static void follow(struct hc_network network, bool tied)
{
    struct hc_gpt gpt = *network.gpt;
    struct trajectory want;
    struct model m;
    gpt.tied = tied;
    network.gpt = &gpt;
    read_trajectory(&gpt, &want);
    open_model(&m, &network);
    cr_assert_eq(want.norms, hc_net_plan(m.net)->parameters);
    hc_text_make(1, TEXT, text);
    for (int s = 0; s < STEPS; s++) {
        struct hc_rates rates = hc_warmup_cosine(2e-3, 5, STEPS, s);
        double loss = pass(&m, s, network.gpt->length);
        double squares = 0;
        expect_near(want.loss[s], loss, s == 0 ? 1e-10 : 1e-7, "loss", s + 1);
        for (int p = 0; p < want.norms; p++) {
            double norm = norm_of(&m, p);
            squares += norm * norm;
            if (s == 0)
                expect_near(want.norm[p], norm, 1e-10, want.name[p], 1);
        }
        expect_near(want.all[s], sqrt(squares), s == 0 ? 1e-10 : 1e-7, "gradient", s + 1);
        cr_assert_eq(hc_update_step(m.update, rates.lr, rates.beta1), HC_OK);
    }
    close_model(&m);
}

Test(gpt, goes_the_way_of_pytorch_in_fp64)
{
    follow(hc_gpt_tiny, true);
}

Test(gpt, goes_it_with_a_head_of_its_own_too)
{
    follow(hc_gpt_tiny, false);
}

Test(gpt, goes_it_in_the_manner_of_gpt_2)
{
    follow(hc_gpt2_tiny, true);
}

Test(gpt, goes_it_in_the_manner_of_gpt_2_with_a_head_of_its_own)
{
    follow(hc_gpt2_tiny, false);
}
