/* The systems as rows, as their sources have them. NCCL picks an algorithm by size and machine; the
   rows have its ring, which `--set algorithm=tree` changes. Divisions are as on a GPU, where torch
   multiplies by the reciprocal of a scalar, in fp32 (pytorch @0f57f050
   aten/src/ATen/native/cuda/BinaryDivTrueKernel.cu). */
#include "train/parallel/wrapper.h"

#include <math.h>

#define MAY(choice) (1U << HC_REDUCE_##choice)

const char *const hc_wrapper_names[] = {"none", "apex-ddp", "apex-ddp-delayed", "torch-ddp",
                                        "fsdp", "fsdp2",    "horovod",          NULL};

#define APEX "NVIDIA/apex @e13873de apex/parallel/distributed.py, DistributedDataParallel: "

static const struct hc_wrapper table[] = {
    {.name = "none",
     .title = "halfcheck's own: one bucket of each format, a tree in fp32, one division at the end",
     .source = "no system's: the same bits for every number of ranks",
     .bucketing = HC_BUCKET_OF_FORMAT,
     .algorithm = HC_COLLECTIVE_TREE,
     .reduce = HC_REDUCE_FP32,
     .division = HC_DIVIDE_SPLIT,
     .predivide = 1,
     .reduces = MAY(GRADIENT) | MAY(FP32) | MAY(BF16) | MAY(FP16),
     .predivides = true,
     .sums = true},
    {.name = "apex-ddp",
     .title = "flat buckets of 10,000,000 elements or more, all-reduce in the gradients' format",
     .source = APEX "message_size=10000000, gradient_predivide_factor=1.0, "
                    "allreduce_always_fp32=False (reduce=fp32: True)",
     .defects = "fp16 sums overflow before they are divided; the first step has other buckets than "
                "the next (one of each format), so that a resumed run has a ring's other bits; "
                "message_size counts elements, not bytes, and is a least, not a most; without "
                "gradient_average, predivide is still divided by and never made good",
     .bucketing = HC_BUCKET_AT_LEAST,
     .unit = HC_UNIT_ELEMENTS,
     .first_bucket = 10000000,
     .bucket = 10000000,
     .algorithm = HC_COLLECTIVE_RING,
     .reduce = HC_REDUCE_GRADIENT,
     .division = HC_DIVIDE_SPLIT,
     .predivide = 1,
     .multiplies = true,
     .reduces = MAY(GRADIENT) | MAY(FP32),
     .predivides = true,
     .sums = true},
    {.name = "apex-ddp-delayed",
     .title = "one bucket of each format after the backward pass, otherwise as apex-ddp",
     .source = APEX "delay_allreduce=True: allreduce_fallback",
     .defects = "fp16 sums overflow before they are divided",
     .bucketing = HC_BUCKET_OF_FORMAT,
     .algorithm = HC_COLLECTIVE_RING,
     .reduce = HC_REDUCE_GRADIENT,
     .division = HC_DIVIDE_SPLIT,
     .predivide = 1,
     .multiplies = true,
     .reduces = MAY(GRADIENT) | MAY(FP32),
     .predivides = true,
     .sums = true},
    {.name = "torch-ddp",
     .title = "buckets of 1 MiB, then 25 MiB, in backward order; each rank divides before the sum",
     .source =
         "pytorch @ad78a7b3 torch/csrc/distributed/c10d/reducer.cpp: mark_variable_ready_dense, "
         "rebuild_buckets, compute_bucket_assignment_by_size; @38dfbe6f "
         "torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, _compress_hook "
         "(reduce=fp16, reduce=bf16)",
     .defects =
         "16-bit contributions underflow where they are divided before the sum (the compress "
         "hooks, and models in half; until pull request 57410 the hooks divided after the "
         "sum, which overflowed); the first step has one bucket of each format and the next "
         "ones do not; with gradient_as_bucket_view a CPU divides where it otherwise "
         "multiplies by the reciprocal",
     .bucketing = HC_BUCKET_AT_LEAST,
     .unit = HC_UNIT_BYTES,
     .first_bucket = 1 << 20,
     .bucket = 25 << 20,
     .algorithm = HC_COLLECTIVE_RING,
     .reduce = HC_REDUCE_GRADIENT,
     .division = HC_DIVIDE_BEFORE,
     .multiplies = true,
     .reduces = MAY(GRADIENT) | MAY(BF16) | MAY(FP16)},
    {.name = "fsdp",
     .title = "a bucket for each layer, reduced in reduce_dtype, divided by about the root of the "
              "number of ranks before and by the rest after",
     .source = "pytorch @07b3040a torch/distributed/algorithms/_comm_hooks/default_hooks.py, "
               "DefaultState and reduce_scatter_hook; @3ade90a6 "
               "torch/distributed/fsdp/_runtime_utils.py, _post_backward_hook; the rule is that of "
               "fairscale pull request 565",
     .defects = "reduce_dtype is param_dtype unless it is given, so that bf16 swallows small "
                "contributions; the power of two need not divide the number of ranks: 6 is 4 * 1.5",
     .bucketing = HC_BUCKET_OF_LAYER,
     .algorithm = HC_COLLECTIVE_RING,
     .reduce = HC_REDUCE_GRADIENT,
     .division = HC_DIVIDE_ROOT,
     .multiplies = true,
     .copies = true,
     .reduces = MAY(GRADIENT) | MAY(FP32) | MAY(BF16) | MAY(FP16)},
    {.name = "fsdp2",
     .title = "as fsdp in fp16; in bf16 and fp32 NCCL's average, which divides before",
     .source = "pytorch @010ae4a8 torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, "
               "foreach_reduce and _get_gradient_divide_factors",
     .defects =
         "NCCL chooses where its average is rounded: 1 / n rounded into bf16 before the sum, "
         "or in fp32 after it, by kernel (here: in fp32 before); reduce_dtype does not reach "
         "the all-reduce of tensor parallel ranks (pytorch issue 190626)",
     .bucketing = HC_BUCKET_OF_LAYER,
     .algorithm = HC_COLLECTIVE_RING,
     .reduce = HC_REDUCE_GRADIENT,
     .division = HC_DIVIDE_ROOT_OF_FP16,
     .multiplies = true,
     .copies = true,
     .reduces = MAY(GRADIENT) | MAY(FP32) | MAY(BF16) | MAY(FP16),
     .sums = true},
    {.name = "horovod",
     .title = "buckets of up to 128 MiB, averaged after the sum, in part before by predivide",
     .source =
         "horovod/horovod @2626dc87 horovod/common/controller.cc, FuseResponses; "
         "horovod/torch/optimizer.py, gradient_predivide_factor; horovod/torch/compression.py, "
         "FP16Compressor (reduce=fp16)",
     .defects =
         "what is ready within a cycle travels together, so that a ring's bits differ from "
         "run to run (here: all are ready); on a GPU in fp16 the factor itself is rounded to "
         "half, and 1 / 3 is not 1 / 3 (here: in fp32); fp16 sums overflow before they are "
         "divided",
     .bucketing = HC_BUCKET_AT_MOST,
     .unit = HC_UNIT_BYTES,
     .first_bucket = 128 << 20,
     .bucket = 128 << 20,
     .algorithm = HC_COLLECTIVE_RING,
     .reduce = HC_REDUCE_GRADIENT,
     .division = HC_DIVIDE_SPLIT,
     .predivide = 1,
     .multiplies = true,
     .reduces = MAY(GRADIENT) | MAY(FP16),
     .predivides = true,
     .sums = true},
};

enum { COUNT = sizeof table / sizeof table[0] };
_Static_assert(sizeof hc_wrapper_names / sizeof hc_wrapper_names[0] == COUNT + 1,
               "as many names as rows");

const struct hc_wrapper *hc_wrappers(int *n)
{
    *n = COUNT;
    return table;
}

const char *const hc_algorithm_names[] = {"wrapper", "tree", "ring", "halving", "library", NULL};
const char *const hc_reduce_names[] = {"wrapper", "gradient", "fp32", "bf16", "fp16", NULL};

_Static_assert(sizeof hc_algorithm_names / sizeof hc_algorithm_names[0] == HC_COLLECTIVE_COUNT + 2,
               "one name for each algorithm");
_Static_assert(sizeof hc_reduce_names / sizeof hc_reduce_names[0] == HC_REDUCE_CHOICES + 1,
               "one name for each choice");

static const struct hc_wrapper *row_of(const struct hc_recipe *r)
{
    int n;
    const struct hc_wrapper *rows = hc_wrappers(&n);
    return r->wrapper >= 0 && r->wrapper < n ? &rows[r->wrapper] : NULL;
}

static bool has_size(const struct hc_wrapper *w)
{
    return w->bucketing == HC_BUCKET_AT_LEAST || w->bucketing == HC_BUCKET_AT_MOST;
}

struct hc_wrapper hc_wrapper_of(const struct hc_recipe *r)
{
    struct hc_wrapper w = *row_of(r);
    if (r->algorithm != HC_ALGORITHM_OF_WRAPPER)
        w.algorithm = (enum hc_collective)(r->algorithm - 1);
    if (r->reduce != HC_REDUCE_OF_WRAPPER)
        w.reduce = (enum hc_reduce_choice)r->reduce;
    if (r->predivide != 0)
        w.predivide = r->predivide;
    if (r->bucket != 0)
        w.first_bucket = w.bucket = r->bucket;
    return w;
}

/* Whether fp32 can divide by it and multiply by its reciprocal. */
static bool divides(double divisor)
{
    float d = (float)divisor;
    return d > 0 && isfinite(d) && isfinite(1 / d);
}

/* What is left to divide by afterwards is n / p; there are 2^30 shards at most. */
static bool splits(double p)
{
    return divides(p) && divides(1 / p) && divides(0x1p30 / p);
}

static const char *wrong_numbers(const struct hc_recipe *r)
{
    if (r->algorithm < 0 || r->algorithm > HC_COLLECTIVE_COUNT)
        return "there is no such algorithm of an all-reduce";
    if (r->reduce < 0 || r->reduce >= HC_REDUCE_CHOICES)
        return "there is no such format to reduce in";
    if (r->predivide != 0 && !splits(r->predivide))
        return "predivide is so small or so large that fp32 cannot divide by it and by the rest";
    if (r->bucket < 0)
        return "the size of a bucket is below 1";
    return NULL;
}

const char *hc_wrapper_wrong(const struct hc_recipe *r)
{
    const struct hc_wrapper *w = row_of(r);
    const char *why = w ? wrong_numbers(r) : "there is no such wrapper";
    if (why)
        return why;
    if (r->reduce != HC_REDUCE_OF_WRAPPER && !(w->reduces & 1U << r->reduce))
        return "its wrapper has no option to reduce in that format";
    if (r->reduce > HC_REDUCE_GRADIENT && r->model == HC_FP64)
        return "fp64 is reduced in fp64";
    if (r->predivide != 0 && !w->predivides)
        return "its wrapper has no predivide factor";
    if (r->bucket != 0 && !has_size(w))
        return "its wrapper has no buckets of a size";
    if (r->sum_loss && r->predivide != 0)
        return "a loss that is a sum is not averaged, so there is nothing to divide before";
    if (r->sum_loss && !w->sums)
        return "a loss that is a sum is not averaged, and its wrapper always averages";
    return NULL;
}

enum hc_format hc_wrapper_held(const struct hc_recipe *recipe, enum hc_format format)
{
    bool rounded_copy = recipe->masters == HC_MASTERS_FROM_FP32;
    return rounded_copy && !row_of(recipe)->copies ? HC_FP32 : format;
}

/* torch's rule. The factor need not divide n, nor the rest be a whole number. */
static double root_of(int n)
{
    double factor = 1;
    while (fmod(n, factor) == 0 && n / factor > factor)
        factor *= 2;
    return factor;
}

static enum hc_format sum_of(const struct hc_wrapper *w, enum hc_format held)
{
    static const enum hc_format formats[HC_REDUCE_CHOICES] = {
        [HC_REDUCE_FP32] = HC_FP32, [HC_REDUCE_BF16] = HC_BF16, [HC_REDUCE_FP16] = HC_FP16};
    return held == HC_FP64 || w->reduce == HC_REDUCE_GRADIENT ? held : formats[w->reduce];
}

/* What each contribution is divided by. */
static double before_of(const struct hc_wrapper *w, enum hc_format sum, int parts)
{
    if (w->division == HC_DIVIDE_SPLIT)
        return w->predivide;
    if (w->division == HC_DIVIDE_ROOT || (w->division == HC_DIVIDE_ROOT_OF_FP16 && sum == HC_FP16))
        return root_of(parts);
    return parts;
}

struct hc_all_reduce hc_wrapper_all_reduce(const struct hc_wrapper *w, enum hc_format held,
                                           int parts, bool sums)
{
    enum hc_format sum = sum_of(w, held);
    double before = sums ? 1 : before_of(w, sum, parts);
    return (struct hc_all_reduce){.algorithm = w->algorithm,
                                  .sum = sum,
                                  .before = before,
                                  .after = sums ? 1 : parts / before,
                                  .multiplies = w->multiplies};
}
