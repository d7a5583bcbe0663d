#include "cli/judge_step/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"

static enum hc_status refuse_step(struct hc_step *step, enum hc_status status)
{
    if (step->status == HC_OK) {
        step->status = status;
        (void)snprintf(step->message, sizeof step->message, "%s", hc_message());
    }
    return status;
}

/* Whether this is PREFIX NAME. */
static bool is_called(const char *whole, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    return strncmp(whole, prefix, length) == 0 && strcmp(whole + length, name) == 0;
}

static bool is_named(const struct hc_step *step, const char *name)
{
    for (int p = 0; p < step->parameters; p++)
        if (step->named[p].name && strcmp(step->named[p].name, name) == 0)
            return true;
    return false;
}

/* The parameters of a network that is not known: all that the file has weights or masters of. */
static enum hc_status list_named(struct hc_step *step, const char *path)
{
    static const char *const prefixes[] = {"weights.", "masters."};
    step->named = calloc((size_t)step->file.count + 1, sizeof *step->named);
    if (!step->named)
        return hc_fail(HC_NO_MEMORY, "no memory for a step file");
    for (size_t k = 0; k < sizeof prefixes / sizeof prefixes[0]; k++)
        for (int i = 0; i < step->file.count; i++) {
            const struct hc_named_tensor *t = &step->file.tensors[i];
            size_t length = strlen(prefixes[k]);
            if (strncmp(t->name, prefixes[k], length) != 0 || is_named(step, t->name + length))
                continue;
            if (t->unread)
                return hc_fail(HC_INVALID,
                               "%s: %s cannot be judged: %s; a row of its numbers can be", path,
                               t->name, t->unread);
            step->named[step->parameters++] = (struct hc_step_named){t->name + length, t->tensor};
        }
    if (step->parameters == 0)
        return hc_fail(HC_INVALID,
                       "%s: it names no known network (darknet16, darknet-tiny, gpt, gpt-tiny, "
                       "gpt2, gpt2-tiny), "
                       "and has no weights.NAME or masters.NAME to judge the optimizer's step by",
                       path);
    return HC_OK;
}

static const struct hc_network *network_of(const struct hc_step *step)
{
    const struct hc_network *const all[] = {&hc_darknet16, &hc_darknet_tiny, &hc_gpt_small,
                                            &hc_gpt_tiny,  &hc_gpt2_small,   &hc_gpt2_tiny};
    const char *name = hc_tensor_file_metadata(&step->file, "network");
    for (size_t i = 0; name && i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* Whether all of n numbers are indices below `below`. */
static enum hc_status check_indices(const char *name, const struct hc_tensor *t, int below,
                                    const char *what)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double index = hc_tensor_get(t, i);
        if (index < 0 || index >= below)
            return hc_fail(HC_INVALID, "%s holds %.0f, which is none of %d %s", name, index, below,
                           what);
    }
    return HC_OK;
}

/* Bytes, and the byte that follows each: N texts, one behind the other. */
static enum hc_status check_text(struct hc_step *step, const struct hc_tensor *labels)
{
    const struct hc_tensor *text = hc_tensor_file_find(&step->file, "batch.text");
    int64_t length = step->plan.places;
    int64_t n = labels && labels->data ? hc_tensor_count(labels) : 0;
    if (n < 1 || n % length != 0 || labels->format != HC_I32 || !text || !text->data ||
        text->format != HC_I32 || hc_tensor_count(text) != n)
        return hc_fail(HC_INVALID,
                       "the step has no batch.text and batch.labels, i32 or i64 [N * %lld]",
                       (long long)length);
    step->images = n / length;
    step->places = n;
    enum hc_status status = check_indices("batch.text", text, HC_BYTES, "bytes");
    return status == HC_OK ? check_indices("batch.labels", labels, HC_BYTES, "bytes") : status;
}

static enum hc_status check_labels(struct hc_step *step)
{
    const struct hc_tensor *labels = hc_tensor_file_find(&step->file, "batch.labels");
    if (step->plan.network->gpt)
        return check_text(step, labels);
    if (!labels || labels->rank != 1 || labels->shape[0] < 1 || !labels->data ||
        labels->format != HC_I32)
        return hc_fail(HC_INVALID, "the step has no batch.labels, i32 or i64 [N]");
    step->images = labels->shape[0];
    step->places = step->images;
    return check_indices("batch.labels", labels, step->plan.classes, "classes");
}

enum hc_status hc_step_open(struct hc_step *step, const char *path)
{
    enum { MAX_CLASSES = 1000000 };
    *step = (struct hc_step){0};
    enum hc_status status = hc_tensor_file_read(&step->file, path);
    if (status != HC_OK)
        return status;
    if (!hc_step_metadata_is(step, "halfcheck.step", "1"))
        return hc_fail(HC_INVALID,
                       "%s is no step file: its metadata lack \"halfcheck.step\": \"1\"", path);
    const struct hc_network *network = network_of(step);
    double classes = hc_step_number(step, "classes", 0);
    step->converted = calloc((size_t)step->file.count + 1, sizeof *step->converted);
    if (!step->converted)
        return hc_fail(HC_NO_MEMORY, "no memory for a step file");
    if (!network)
        status = list_named(step, path);
    else if (!(classes >= 1 && classes <= MAX_CLASSES) || floor(classes) != classes)
        return hc_fail(HC_INVALID, "%s: its metadata do not say how many classes there are", path);
    if (network) {
        hc_plan_make(network, (int)classes, &step->plan);
        step->parameters = step->plan.parameters;
    }
    if (status != HC_OK)
        return status;
    step->gradients = calloc((size_t)step->parameters + 1, sizeof *step->gradients);
    step->zeros = calloc((size_t)step->parameters + 1, sizeof *step->zeros);
    if (!step->gradients || !step->zeros)
        return hc_fail(HC_NO_MEMORY, "no memory for a step file");
    return network ? check_labels(step) : HC_OK;
}

void hc_step_close(struct hc_step *step)
{
    for (int i = 0; step->converted && i < step->file.count; i++)
        free(step->converted[i].data);
    for (int p = 0; step->gradients && step->zeros && p < step->parameters; p++) {
        free(step->gradients[p].data);
        free(step->zeros[p].data);
    }
    free(step->gradients);
    free(step->zeros);
    free(step->converted);
    free(step->named);
    hc_tensor_file_close(&step->file);
}

static bool is_float(enum hc_format f)
{
    return f == HC_FP64 || f == HC_FP32 || f == HC_BF16 || f == HC_FP16;
}

/* Whether a tensor in the file's layout has the shape of one in ours. */
static bool fits(const struct hc_tensor *t, const struct hc_tensor *like)
{
    static const int nchw[HC_MAX_RANK] = {0, 3, 1, 2};
    if (t->rank == 0 && like->rank == 1)
        return like->shape[0] == 1;
    if (t->rank != like->rank)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] != like->shape[t->rank == HC_MAX_RANK ? nchw[d] : d])
            return false;
    return true;
}

static struct hc_tensor convert(struct hc_step *step, int i, struct hc_tensor like)
{
    const struct hc_tensor *t = &step->file.tensors[i].tensor;
    like.format = t->format;
    if (like.rank != HC_MAX_RANK) {
        like.data = t->data;
        return like;
    }
    struct hc_tensor *to = &step->converted[i];
    if (!to->data) {
        *to = like;
        to->data = malloc(hc_tensor_bytes(t) + 1);
        if (to->data)
            hc_tensor_to_nhwc(t, to);
        else
            (void)refuse_step(
                step, hc_fail(HC_NO_MEMORY, "no memory for %s", step->file.tensors[i].name));
    }
    return *to;
}

struct hc_tensor hc_step_tensor(struct hc_step *step, const char *prefix, const char *name,
                                struct hc_tensor like)
{
    for (int i = 0; i < step->file.count; i++) {
        const struct hc_tensor *t = &step->file.tensors[i].tensor;
        if (!is_called(step->file.tensors[i].name, prefix, name))
            continue;
        if (is_float(t->format) && t->data && fits(t, &like))
            return convert(step, i, like);
        (void)refuse_step(step, hc_fail(HC_INVALID,
                                        "%s does not have the shape of the %s's, or is not "
                                        "fp64, fp32, bf16 or fp16",
                                        step->file.tensors[i].name, step->plan.network->name));
    }
    like.data = NULL;
    return like;
}

double hc_step_scalar(struct hc_step *step, const char *name, double otherwise)
{
    const struct hc_tensor *t = hc_tensor_file_find(&step->file, name);
    if (!t || !t->data)
        return otherwise;
    if (hc_tensor_count(t) == 1)
        return hc_tensor_get(t, 0);
    (void)refuse_step(step, hc_fail(HC_INVALID, "%s is not one number", name));
    return otherwise;
}

double hc_step_number(struct hc_step *step, const char *key, double otherwise)
{
    const char *text = hc_tensor_file_metadata(&step->file, key);
    char *end;
    if (!text)
        return otherwise;
    double value = strtod(text, &end);
    if (end != text && !*end && isfinite(value))
        return value;
    (void)refuse_step(step,
                      hc_fail(HC_INVALID, "%s is '%s' in the metadata, not a number", key, text));
    return otherwise;
}

bool hc_step_metadata_is(const struct hc_step *step, const char *key, const char *word)
{
    const char *text = hc_tensor_file_metadata(&step->file, key);
    return text && strcmp(text, word) == 0;
}

bool hc_step_is_own(const struct hc_step *step)
{
    static const char own[] = "halfcheck ";
    const char *producer = hc_tensor_file_metadata(&step->file, "producer");
    return producer && strncmp(producer, own, strlen(own)) == 0;
}

const struct hc_recipe *hc_step_recipe(const struct hc_step *step)
{
    char name[HC_TORCH_NAME] = "";
    const char *text = hc_tensor_file_metadata(&step->file, "recipe");
    if (!text || !hc_step_is_own(step))
        return NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " +"), text);
    return hc_recipe_by_name(name);
}

bool hc_step_allows_tf32(const struct hc_step *step)
{
    const struct hc_recipe *recipe = hc_step_recipe(step);
    return recipe ? recipe->tf32 : hc_step_metadata_is(step, "tf32", "1");
}

struct hc_tensor hc_step_shape(const struct hc_step *step, int v)
{
    const struct hc_network *network = step->plan.network;
    const struct hc_layer *layer = &step->plan.layer[v > 0 ? v - 1 : 0];
    if (network->gpt && v == 0)
        return hc_tensor1(HC_I32, step->places, NULL);
    if (v == 0)
        return hc_tensor4(HC_FP32, step->images, network->side, network->side, network->channels,
                          NULL);
    if (network->gpt || layer->kind == HC_LAYER_LINEAR)
        return hc_tensor2(HC_FP32, step->places, layer->channels, NULL);
    return hc_tensor4(HC_FP32, step->images, layer->side, layer->side, layer->channels, NULL);
}

static struct hc_tensor value(struct hc_step *step, int v, const char *prefix)
{
    char name[HC_TORCH_NAME];
    hc_torch_module(&step->plan, v - 1, name);
    return hc_step_tensor(step, prefix, name, hc_step_shape(step, v));
}

struct hc_tensor hc_step_labels(struct hc_step *step)
{
    const struct hc_tensor *labels = hc_tensor_file_find(&step->file, "batch.labels");
    return hc_tensor1(HC_I32, step->places, labels->data);
}

struct hc_tensor hc_step_activation(struct hc_step *step, int v)
{
    if (v == 0 && step->plan.network->gpt) {
        struct hc_tensor text = hc_step_shape(step, 0);
        text.data = hc_tensor_file_find(&step->file, "batch.text")->data;
        return text;
    }
    if (v == 0)
        return hc_step_tensor(step, "", "batch.images", hc_step_shape(step, 0));
    if (v == step->plan.layers)
        return hc_step_tensor(step, "", "logits", hc_step_shape(step, v));
    return value(step, v, "activations.");
}

struct hc_tensor hc_step_activation_gradient(struct hc_step *step, int v)
{
    if (v == step->plan.layers)
        return hc_step_tensor(step, "activation_gradients.", "logits", hc_step_shape(step, v));
    return value(step, v, "activation_gradients.");
}

struct hc_tensor hc_step_inside(struct hc_step *step, int l, const char *prefix, const char *suffix,
                                struct hc_tensor like)
{
    char module[HC_TORCH_NAME];
    char name[HC_TORCH_NAME + 16];
    hc_torch_module(&step->plan, l, module);
    (void)snprintf(name, sizeof name, "%s%s", module, suffix);
    return hc_step_tensor(step, prefix, name, like);
}

struct hc_tensor hc_step_convolved(struct hc_step *step, int l, const char *prefix)
{
    return hc_step_inside(step, l, prefix, HC_TORCH_CONV, hc_step_shape(step, l + 1));
}

/* A tensor of a parameter that the file names, as a row of numbers: an optimizer asks for no more
   than which of them belong together. */
static struct hc_tensor named_tensor(struct hc_step *step, int p, const char *prefix)
{
    const struct hc_step_named *named = &step->named[p];
    struct hc_tensor row = hc_tensor1(HC_FP32, hc_tensor_count(&named->shape), NULL);
    for (int i = 0; i < step->file.count; i++) {
        const struct hc_named_tensor *t = &step->file.tensors[i];
        if (!is_called(t->name, prefix, named->name))
            continue;
        bool same = t->tensor.rank == named->shape.rank;
        for (int d = 0; same && d < t->tensor.rank; d++)
            same = t->tensor.shape[d] == named->shape.shape[d];
        row.format = t->tensor.format;
        if (same && is_float(row.format) && t->tensor.data)
            row.data = t->tensor.data;
        else
            (void)refuse_step(step, hc_fail(HC_INVALID,
                                            "%s does not have the shape of the parameter, or is "
                                            "not fp64, fp32, bf16 or fp16",
                                            t->name));
    }
    return row;
}

void hc_step_name(const struct hc_step *step, int p, char name[HC_STEP_NAME])
{
    if (step->plan.network)
        hc_torch_parameter(&step->plan, p, name);
    else
        hc_text_plain(name, HC_STEP_NAME, step->named[p].name);
}

bool hc_step_is_norm_or_bias(const struct hc_step *step, int p)
{
    if (!step->plan.network)
        return step->named[p].shape.rank <= 1;
    const struct hc_layer *layer = hc_plan_layer_of(&step->plan, p);
    return layer->role[p - layer->parameter] != HC_ROLE_WEIGHT;
}

double hc_step_number_of(struct hc_step *step, int p, const char *key, double otherwise)
{
    char own[HC_TORCH_NAME];
    const char *name = own;
    size_t length = strlen(key);
    if (step->plan.network)
        hc_torch_parameter(&step->plan, p, own);
    else
        name = step->named[p].name; /* whole, and as the file has it */
    for (int i = 0; i < step->file.metadata_count; i++) {
        const char *known = step->file.metadata[i].key;
        if (strncmp(known, key, length) == 0 && known[length] == '.' &&
            strcmp(known + length + 1, name) == 0)
            return hc_step_number(step, known, otherwise);
    }
    return hc_step_number(step, key, otherwise);
}

struct hc_tensor hc_step_parameter(struct hc_step *step, int p, const char *prefix)
{
    char name[HC_TORCH_NAME];
    if (!step->plan.network)
        return named_tensor(step, p, prefix);
    hc_torch_parameter(&step->plan, p, name);
    return hc_step_tensor(step, prefix, name, hc_plan_parameter(&step->plan, p));
}

struct hc_tensor hc_step_gradient(struct hc_step *step, int p)
{
    struct hc_tensor g = hc_step_parameter(step, p, "unscaled.");
    struct hc_tensor scaled = hc_step_parameter(step, p, "gradients.");
    struct hc_tensor *made = &step->gradients[p];
    double scale = hc_step_scalar(step, "scale", 1);
    if (g.data || !scaled.data || hc_step_number(step, "clip", 0) > 0)
        return g;
    if (scale == 1)
        return scaled;
    /* By a power of two there is one quotient. By another scale there are several right ones, since
       many multiply by a rounded 1 / scale, and the file has to say which it was. */
    int exponent;
    if (frexp(scale, &exponent) != 0.5)
        return g;
    if (!made->data) {
        *made = scaled;
        made->format = scaled.format == HC_FP64 ? HC_FP64 : HC_FP32;
        made->data = malloc(hc_tensor_bytes(made) + 1);
        if (!made->data)
            (void)refuse_step(step, hc_fail(HC_NO_MEMORY, "no memory for a gradient"));
        for (int64_t i = 0; made->data && i < hc_tensor_count(made); i++)
            hc_tensor_set(made, i, hc_tensor_get(&scaled, i) / scale);
    }
    return *made;
}

struct hc_tensor hc_step_zeros(struct hc_step *step, int p)
{
    struct hc_tensor master = hc_step_parameter(step, p, "masters.");
    struct hc_tensor like = master.data ? master : hc_step_parameter(step, p, "weights.");
    struct hc_tensor *zeros = &step->zeros[p];
    if (zeros->data)
        return *zeros;
    *zeros = like;
    zeros->data = calloc(hc_tensor_bytes(&like) + 1, 1);
    if (!zeros->data)
        (void)refuse_step(step, hc_fail(HC_NO_MEMORY, "no memory for zeros"));
    return *zeros;
}

struct hc_tensor hc_step_statistic(struct hc_step *step, int s, const char *prefix)
{
    char name[HC_TORCH_NAME];
    int l = 0;
    while (step->plan.layer[l].statistic < 0 ||
           s >= step->plan.layer[l].statistic + HC_CONV_STATISTICS)
        l++;
    hc_torch_statistic(&step->plan, s, name);
    return hc_step_tensor(step, prefix, name,
                          hc_tensor1(HC_FP32, step->plan.layer[l].channels, NULL));
}
