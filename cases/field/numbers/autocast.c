/* Formats that were not asked for.

   Autocast chooses a format by the operation, whatever the operands have. That has three corners.
   A product runs in 16 bits though both operands were cast to fp32 just before it. An operation in
   place, a.add_(b), does not run under autocast at all, and what it writes has a's format. And code
   that repeats a forward pass for the backward pass, to save memory, must restore the format of the
   first one, not the default.

   The rule of thumb: ask a result for its format. To compute in fp32 switch autocast off there. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/autocast/checkpoint-recompute-dtype",
           "With activation checkpointing under bf16 autocast the loss is finite and gradients "
           "are inf.",
           "pytorch/pytorch issue 71124, 'Activation checkpointing breaks bfloat16 AMP', "
           "https://github.com/pytorch/pytorch/issues/71124; facebookresearch/fairscale issue "
           "1199; pytorch/pytorch issues 141896, 148831 and 159359; NVIDIA/TransformerEngine "
           "issue 787",
           .formula = "x = 250; w = 400\n"
                      "forward = bf16(x * w)             # the loss is computed from this\n"
                      "again = act(act(x) * act(w))      # and the gradient from this\n"
                      "gradient = 1e-3 * fp32(again)",
           .show = "forward, again, gradient",
           .buggy = {.in = "fp32 act=fp16", .prints = "-, inf, inf"},
           .fixed = {.in = "fp32 act=bf16"}, .fault = "gemm-result-in-half",
           .lesson = "Recompute in the format of the first forward pass: what is finite in bf16 "
                     "may be infinite in half."),
    HC_BUG("field/autocast/autocast-downcasts-explicit-fp32",
           "x.float() @ y.float() is still bf16 under autocast: all image positions collapse, and "
           "pictures have a single colour.",
           "huggingface/diffusers PR 13922, 'Fix `Ideogram4MRoPE` collapsing under "
           "`torch.autocast` (compute rotary in float32)', "
           "https://github.com/huggingface/diffusers/pull/13922, and issue 13920",
           .formula = "position = list(512, fp32(65536 + i))   # .float() has its effect\n"
                      "angle = fp32(mm(position)) * fp32(mm(0.5))",
           .show = "distinct(position), distinct(angle), angle[1] - angle[0], "
                   "angle[256] - angle[0], angle[257] - angle[0]",
           .buggy = {.in = "fp32 mm=bf16", .prints = "-, -, 0, 0, -"},
           .fixed = {.in = "fp32 mm=fp32"},
           .correction = "The thread says that all positions of a grid up to 512 wide become "
                         "65536: rounding to nearest does that up to 65792, and those above "
                         "become 66048.",
           .fault = "gemm-weights-in-bf16",
           .lesson = "A cast before a product is no protection; wrap it in "
                     "autocast(enabled=False)."),
    HC_BUG("field/autocast/autocast-inplace",
           "Inside autocast a.add_(b) keeps a in half where a + b is fp32: the sum stops growing.",
           "PyTorch documentation, torch.amp, Op Eligibility: 'In-place variants and calls that "
           "explicitly supply an out=... Tensor ... won't go through autocasting', "
           "https://pytorch.org/docs/stable/amp.html; pytorch/pytorch issue 63292",
           .formula = "a = kept(0); b = 0.25", .each = "a = kept(fp32(a) + b)", .steps = 4096,
           .show = "a", .buggy = {.in = "fp32 kept=fp16", .prints = "512 exact"},
           .fixed = {.in = "fp32 kept=fp32", .prints = "1024 exact"}, .curve = "a",
           .fault = "axpy-through-half",
           .lesson = "Sum into an fp32 tensor: an operation in place computes in fp32 and stores "
                     "in the format of what it writes to."),
};

HC_CASES(field_numbers_autocast, cases);
