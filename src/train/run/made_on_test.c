/* What a run was made on is part of it: another program of the same name, or another unit of the
   CPU, does not go on with its checkpoint. */
#include "train/run/testing.h"

#include <string.h>

#include "fallback.h"
#include "train/run/checkpoint.h"

static const char *command;  /* that the backend tells of, or NULL */
static const char *products; /* likewise, in bf16 */
static const char *halves;   /* in fp16 */

TestSuite(made_on, .init = open_two_classes, .fini = remove_folder);

static void describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    (void)queue;
    if (command)
        tell("command", command, context);
    tell("version", command ? command : "any", context);
    if (products)
        tell("bf16 products", products, context);
    if (halves)
        tell("fp16 products", halves, context);
}

static enum hc_status train_on(const struct hc_backend *backend, const char *recipe, bool resume)
{
    struct hc_train_result result;
    struct hc_train_options o = {.recipe = hc_recipe_by_name(recipe),
                                 .network = &minute,
                                 .data = &data,
                                 .backend = backend,
                                 .epochs = 1,
                                 .batch = 8,
                                 .seed = 11,
                                 .out = folder,
                                 .resume = resume};
    return hc_train(&o, &result);
}

static enum hc_status train(const char *recipe, bool resume)
{
    struct hc_backend told = *hc_backend_by_name("exact");
    told.describe = describe;
    return train_on(&told, recipe, resume);
}

static void refused(const char *recipe, const char *want)
{
    cr_assert_eq(train(recipe, true), HC_INVALID, "%s", recipe);
    cr_assert_not_null(strstr(hc_message(), want), "%s", hc_message());
    cr_assert_null(strchr(hc_message(), '\n'));
}

Test(made_on, another_command_of_the_same_name_is_refused)
{
    char other[400];
    char long_one[400];
    command = "pipe:python3 g.py first";
    cr_assert_eq(train("fp32", false), HC_OK, "%s", hc_message());
    cr_assert_eq(train("fp32", true), HC_OK, "%s", hc_message());
    command = "pipe:python3 g.py second";
    refused("fp32", "its command=pipe:python3 g.py first, not command=pipe:python3 g.py ");
    command = NULL;
    refused("fp32", "its command=pipe:python3 g.py first, which this run does not have");
    memset(long_one, 'x', sizeof long_one);
    long_one[sizeof long_one - 1] = '\0';
    memcpy(other, long_one, sizeof other);
    other[sizeof other - 2] = 'y';
    command = long_one;
    cr_assert_eq(train("fp32", false), HC_OK, "%s", hc_message());
    cr_assert_eq(train("fp32", true), HC_OK, "%s", hc_message());
    command = other;
    refused("fp32", "its command=xxx");
    command = "pipe:\033[2J 100%41";
    cr_assert_eq(train("fp32", false), HC_OK, "%s", hc_message());
    command = NULL;
    refused("fp32", "its command=pipe: [2J 100%41, which this run does not have");
}

/* They change no product in another format. */
Test(made_on, other_products_of_bf16_are_refused_under_recipes_that_have_them)
{
    command = NULL;
    products = "in fp32";
    cr_assert_eq(train("amp-bf16", false), HC_OK, "%s", hc_message());
    products = "by the tile unit";
    refused("amp-bf16", "its products=in fp32, not products=by the tile unit");
    products = "in fp32";
    cr_assert_eq(train("amp-bf16", true), HC_OK, "%s", hc_message());
    cr_assert_eq(train("amp", false), HC_OK, "%s", hc_message());
    products = "by the tile unit";
    cr_assert_eq(train("amp", true), HC_OK, "%s", hc_message());
    halves = "by the tile unit";
    cr_assert_eq(train("amp", false), HC_OK, "%s", hc_message());
    halves = "in fp32";
    refused("amp", "its products=by the tile unit, not products=in fp32");
    cr_assert_eq(train("fp32", false), HC_OK, "%s", hc_message());
    halves = products = NULL;
    cr_assert_eq(train("fp32", true), HC_OK, "%s", hc_message());
}

/* A fallback may run the products, too. */
Test(made_on, the_products_of_a_fallback_count)
{
    const struct hc_backend *both;
    struct hc_backend subject = *hc_backend_by_name("exact");
    subject.kernel[HC_OP_conv2d] = NULL;
    cr_assert_eq(hc_fallback(&subject, hc_backend_by_name("host"), &both), HC_OK);
    cr_assert_eq(train_on(both, "amp-bf16", false), HC_OK, "%s", hc_message());
    struct hc_tensor_file file;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
    cr_assert_eq(hc_checkpoint_open(&file, path), HC_OK, "%s", hc_message());
    cr_expect_not_null(strstr(hc_checkpoint_identity(&file), " backend=exact+host "));
    cr_expect_not_null(strstr(hc_checkpoint_identity(&file), " fallback.products="), "%s",
                       hc_checkpoint_identity(&file));
    hc_tensor_file_close(&file);
}

/* Those of before have no such words. */
Test(made_on, an_older_checkpoint_is_gone_on_with)
{
    command = NULL;
    products = NULL;
    cr_assert_eq(train("amp-bf16", false), HC_OK, "%s", hc_message());
    command = "pipe:python3 g.py first";
    products = "in fp32";
    cr_assert_eq(train("amp-bf16", true), HC_OK, "%s", hc_message());
    products = "by the tile unit";
    cr_assert_eq(train("amp-bf16", true), HC_OK, "%s", hc_message());
}
