/* A step file (docs/step-files.md), opened to be judged: its tensors in halfcheck's layout, and
   what its metadata say. */
#ifndef HC_CLI_JUDGE_STEP_STEP_H
#define HC_CLI_JUDGE_STEP_STEP_H

#include "op/call.h"
#include "op/status.h"
#include "tensor_file/tensor_file.h"
#include "train/net/net.h"
#include "train/net/torch_names.h"
#include "train/update/recipe.h"

enum { HC_STEP_NAME = 160 }; /* a parameter's name, as far as it is printed */

/* A parameter of a network that halfcheck does not know. */
struct hc_step_named {
    const char *name;       /* the file's */
    struct hc_tensor shape; /* without data */
};

struct hc_step {
    struct hc_tensor_file file;
    struct hc_plan plan;         /* plan.network is NULL if the file's network is not known: then
                                    the optimizer's step alone can be judged */
    int parameters;              /* how many the network has, or the file names */
    struct hc_step_named *named; /* they, if the network is not known */
    int64_t images;              /* of the batch, or texts; */
    int64_t places;              /* and how many labels it has: one an image, many a text */
    struct hc_tensor *converted; /* by number of the file's tensor; its own memory, if any */
    struct hc_tensor *gradients; /* by parameter: made by hc_step_gradient, if necessary */
    struct hc_tensor *zeros;     /* by parameter: made by hc_step_zeros */
    enum hc_status status; /* of the first tensor that cannot be used; hc_message() says why */
    char message[256];
};

/* Reads the file and makes the plan of its network. HC_IO, HC_NO_MEMORY or HC_INVALID with a line.
   Close it in any case. */
enum hc_status hc_step_open(struct hc_step *step, const char *path);
void hc_step_close(struct hc_step *step);

/* The tensor PREFIX NAME, in halfcheck's layout, if it has the shape of `like`, whose format does
   not count; of rank 0 in a file, it may be [1]. Without data if the file lacks it. If it has
   another shape or is not float it lacks data, too, and step->status becomes HC_INVALID. */
struct hc_tensor hc_step_tensor(struct hc_step *step, const char *prefix, const char *name,
                                struct hc_tensor like);

/* The one number of that name, or `otherwise`. */
double hc_step_scalar(struct hc_step *step, const char *name, double otherwise);

/* What the metadata say: a number, which may be a hex float, or whether it is this word. */
double hc_step_number(struct hc_step *step, const char *key, double otherwise);
bool hc_step_metadata_is(const struct hc_step *step, const char *key, const char *word);

/* Whether halfcheck itself made the step; its recipe, or NULL. Fields that the metadata lack are
   taken from the recipe. */
bool hc_step_is_own(const struct hc_step *step);
const struct hc_recipe *hc_step_recipe(const struct hc_step *step);

/* Whether products may take fp32 inputs as tf32: the recipe or the metadata's "tf32" says so. */
bool hc_step_allows_tf32(const struct hc_step *step);

/* The shape of value v, as in hc_net_value: of the image, of layer v - 1's output, or of the
   logits. A GPT's first value is i32. */
struct hc_tensor hc_step_shape(const struct hc_step *step, int v);

/* "activations.", "activation_gradients." and the like: value v > 0, the output of the convolution
   inside layer l, a parameter and a statistic. */
struct hc_tensor hc_step_labels(struct hc_step *step); /* i32 [places] */
struct hc_tensor hc_step_activation(struct hc_step *step, int v);
struct hc_tensor hc_step_activation_gradient(struct hc_step *step, int v);
struct hc_tensor hc_step_inside(struct hc_step *step, int l, const char *prefix, const char *suffix,
                                struct hc_tensor like); /* PREFIX LAYER SUFFIX */
struct hc_tensor hc_step_convolved(struct hc_step *step, int l, const char *prefix);
struct hc_tensor hc_step_parameter(struct hc_step *step, int p, const char *prefix);
struct hc_tensor hc_step_statistic(struct hc_step *step, int s, const char *prefix);

/* What a parameter is called, and whether weight decay may pass it over: it belongs to batch norm
   or is a bias. Without a network that is a parameter of one dimension, or none. */
void hc_step_name(const struct hc_step *step, int p, char name[HC_STEP_NAME]);
bool hc_step_is_norm_or_bias(const struct hc_step *step, int p);

/* What the metadata say of this parameter, KEY.NAME, or else of all, KEY. */
double hc_step_number_of(struct hc_step *step, int p, const char *key, double otherwise);

/* The gradient that the optimizer got: "unscaled.", or where the file lacks it and nothing was
   clipped, "gradients." divided by the scale, if that is a power of two. Without data if neither
   can be had. */
struct hc_tensor hc_step_gradient(struct hc_step *step, int p);

/* Zeros in the shape and format of what the optimizer steps, for state before its first step. */
struct hc_tensor hc_step_zeros(struct hc_step *step, int p);

#endif
