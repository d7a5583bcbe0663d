/* The systems as rows, as their sources have them. NCCL picks an algorithm by size and machine; the
   rows have its ring, which `--set algorithm=tree` changes. Divisions are as on a GPU, where torch
   multiplies by the reciprocal of a scalar, in fp32 (pytorch @0f57f050
   aten/src/ATen/native/cuda/BinaryDivTrueKernel.cu). */
#include "train/parallel/wrapper.h"

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
