/* A training step, call by call. Each op is held to its bound on the very tensors that the step
   gives it. What flows into a call was made by the calls before it, so errors do not add up and no
   bound is needed but the op's own: gradients at the same weights, layer by layer. */
#include <stdlib.h>

#include "case.h"

enum { BATCH = 4, CLASSES = 4, SIDE = 8, PIXELS = BATCH * SIDE * SIDE * 3 };

/* Every kind of layer, a residual with and without a stride before it, and sums that MPFR can
   follow. */
static const struct hc_network network = {.name = "darknet-8",
                                          .side = SIDE,
                                          .channels = 3,
                                          .width = 8,
                                          .groups = 2,
                                          .blocks = {1, 1},
                                          .strides = {1, 2}};

struct watch {
    struct hc_check *check;
    int calls;
    bool seen[HC_OP_ROOM];
};

/* The tensors in host memory; frees them, too. */
static bool bring(struct hc_check *check, struct hc_tensor *tensors, int n)
{
    const struct hc_backend *backend = hc_check_backend(check);
    bool ok = true;
    for (int i = 0; i < n; i++) {
        const void *there = tensors[i].data;
        size_t bytes = hc_tensor_bytes(&tensors[i]);
        if (!there)
            continue;
        tensors[i].data = malloc(bytes ? bytes : 1);
        ok = tensors[i].data && ok;
        ok = ok && hc_check_ok(check, backend->download(hc_check_queue(check), tensors[i].data,
                                                        there, bytes));
    }
    return ok;
}

static void drop(struct hc_tensor *tensors, int n)
{
    for (int i = 0; i < n; i++)
        free(tensors[i].data);
}

static void claim(const struct hc_call *call, void *context)
{
    struct watch *watch = context;
    const struct hc_op_info *op = &hc_ops[call->op];
    struct hc_call copy = *call;
    copy.scratch = NULL;
    bool ok = bring(watch->check, copy.in, op->inputs);
    ok = bring(watch->check, copy.out, op->outputs) && ok;
    if (ok)
        hc_claim_call_met(watch->check, &copy);
    drop(copy.in, op->inputs);
    drop(copy.out, op->outputs);
    watch->calls++;
    watch->seen[call->op] = true;
}

static void fill(struct hc_check *check, float *images, int32_t *labels)
{
    for (int i = 0; i < PIXELS; i++)
        images[i] = (float)hc_random_normal(hc_check_seed(check), 0, (uint64_t)i);
    for (int i = 0; i < BATCH; i++)
        labels[i] = (int32_t)(hc_random(hc_check_seed(check), 1, (uint64_t)i) % CLASSES);
}

static enum hc_status run_step(struct hc_device *device, struct hc_net *net,
                               struct hc_update *update, const float *images, const int32_t *labels,
                               struct watch *watch)
{
    struct hc_tensor scale = hc_update_scale(update);
    float loss;
    int right;
    device->observe = claim;
    device->context = watch;
    enum hc_status status = hc_net_train(net, images, labels, &scale, &loss, &right);
    if (status == HC_OK)
        status = hc_update_step(update, 1e-3, 0.9);
    if (status == HC_OK)
        status = hc_net_infer(net, images, labels, BATCH, &loss, &right);
    return status;
}

static void every_call(struct hc_check *check)
{
    const struct hc_recipe *recipe = hc_recipe_by_name(hc_check_case(check)->data);
    struct hc_device device = hc_case_device(check);
    struct watch watch = {.check = check};
    struct hc_net *net = NULL;
    struct hc_update *update = NULL;
    float *images = hc_check_memory(check, sizeof(float) * PIXELS);
    int32_t *labels = hc_check_memory(check, sizeof(int32_t) * BATCH);
    fill(check, images, labels);
    enum hc_status status = hc_net_open(&net, &device, &network, CLASSES, BATCH, 1);
    if (status == HC_OK)
        status = hc_model_open(&update, &device, net, recipe);
    if (status == HC_OK)
        status = run_step(&device, net, update, images, labels, &watch);
    if (hc_check_ok(check, status))
        hc_say(check, "%d calls: a step forward, back and through the optimizer, and an evaluation",
               watch.calls);
    if (status == HC_OK)
        hc_claim_true(check, "a step went forward, back, and through the optimizer",
                      watch.seen[HC_OP_conv2d_bwd_filter] && watch.seen[HC_OP_bn_leaky_bwd] &&
                          watch.seen[HC_OP_adamw] && watch.seen[HC_OP_bn_leaky_infer]);
    hc_update_close(update);
    hc_net_close(net);
    hc_device_end(&device);
}

static const struct hc_case cases[] = {
    {"training/step-fp32", "every call of a training step in fp32 is within its op's bound",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, the first run",
     .run = every_call, .data = "fp32"},
    {"training/step-tf32",
     "every call of a training step whose products are in tf32 is within its op's bound",
     "pytorch 2.15.0 torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32",
     .run = every_call, .data = "tf32"},
    {"training/step-fastai-004b-flat",
     "every call of a training step with masters and a static scale of 512 is within its op's "
     "bound",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
     "MixedPrecision(flat_master=True)",
     .run = every_call, .data = "fastai-004b-flat"},
    {"training/step-fastai-1.0.61-clip",
     "every call of a training step that decides, decays and clips as fastai 1.0.61 does is within "
     "its op's bound",
     "fastai1 fastai/callbacks/fp16.py @1.0.61: MixedPrecision(dynamic=True, clip=0.1)",
     .run = every_call, .data = "fastai-1.0.61-clip"},
    {"training/step-amp",
     "every call of a training step under GradScaler's rule is within its op's bound",
     "pytorch 2.15.0 torch/amp/grad_scaler.py", .run = every_call, .data = "amp"},
    {"training/step-amp-bf16",
     "every call of a training step in bf16 with fp32 weights is within its op's bound",
     "pytorch 2.15.0 torch.autocast(dtype=torch.bfloat16)", .run = every_call, .data = "amp-bf16"},
    {"training/step-te-delayed",
     "every call of a training step whose convolutions are in e4m3 and e5m2 with delayed scaling "
     "is within its op's bound",
     "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
     "DelayedScaling",
     .run = every_call, .data = "fp8-te-delayed"},
    {"training/step-mxfp8-floor",
     "every call of a training step whose convolutions are in MXFP8 is within its op's bound",
     "OCP Microscaling Formats (MX) 1.0.0, 6.3", .run = every_call, .data = "mxfp8-floor"},
    {"training/step-nvfp4",
     "every call of a training step whose convolutions are in NVFP4, with Hadamard's matrix and "
     "random bits, is within its op's bound",
     "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
     "NVFP4BlockScaling",
     .level = HC_EXHAUSTIVE, /* the reference of Hadamard's products takes ten seconds */
     .run = every_call, .data = "nvfp4"},
};

HC_CASES(training_step, cases);
