/* The rules by which the owners of a transformer's kernels test them, with their own constants.
   Each looks at one output of a call, and at all its elements. Tolerances are added up as
   torch.testing does it: |got - want| <= atol + rtol |want|. */
#include <math.h>
#include <string.h>

#include "cli/catches/kernels.h"

static bool begins(enum hc_op op, const char *word)
{
    return strncmp(hc_ops[op].name, word, strlen(word)) == 0;
}

static bool has(enum hc_op op, const char *word)
{
    return strstr(hc_ops[op].name, word) != NULL;
}

/* Of a finite difference, of two equal infinities or of two NaNs; else infinite. */
static double apart(double got, double want)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    double d = fabs(got - want);
    return isnan(d) ? (double)INFINITY : d;
}

static double furthest(const struct hc_tensor *got, const struct hc_tensor *real)
{
    double most = 0;
    for (int64_t i = 0; i < hc_tensor_count(got); i++)
        most = fmax(most, apart(hc_tensor_get(got, i), hc_tensor_get(real, i)));
    return most;
}

static enum hc_judgement all_close(const struct hc_kernel_output *o, double rtol, double atol)
{
    for (int64_t i = 0; i < hc_tensor_count(o->got); i++) {
        double got = hc_tensor_get(o->got, i);
        double want = hc_round(o->got->format, hc_tensor_get(o->real, i));
        if (!hc_is_close(got, want, rtol, atol) && !(isnan(got) && isnan(want)))
            return HC_REFUSED;
    }
    return HC_ACCEPTED;
}

static enum hc_judgement by_format(const struct hc_kernel_output *o)
{
    enum hc_format f = o->got->format;
    return f == HC_BF16   ? all_close(o, 1.6e-2, 1e-5)
           : f == HC_FP16 ? all_close(o, 1e-3, 1e-5)
                          : all_close(o, 1.3e-6, 1e-5);
}

static enum hc_judgement judge_flash(const struct hc_kernel_output *o)
{
    double times = has(o->op, "backward") ? 3 : 2;
    double more = has(o->op, "backward") ? 1e-5 : 0;
    if (!o->half)
        return HC_NOT_APPLIED;
    return furthest(o->got, o->real) <= times * furthest(o->half, o->real) + more ? HC_ACCEPTED
                                                                                  : HC_REFUSED;
}

static enum hc_judgement judge_te(const struct hc_kernel_output *o)
{
    bool bf16 = o->got->format == HC_BF16;
    if (bf16 && begins(o->op, "attention"))
        return all_close(o, 1.5e-2, 1.5e-2);
    return bf16 && begins(o->op, "softmax") ? all_close(o, 2e-3, 2e-3) : by_format(o);
}

static enum hc_judgement judge_liger(const struct hc_kernel_output *o)
{
    bool bf16 = o->got->format == HC_BF16;
    bool fp32 = o->got->format == HC_FP32;
    if (has(o->op, "rms_norm") && (bf16 || fp32))
        return bf16 ? all_close(o, 2e-2, 2e-1) : all_close(o, 1e-6, 1e-4);
    return has(o->op, "cross_entropy") && bf16 ? all_close(o, 5e-2, 1e-8) : HC_NOT_APPLIED;
}

static enum hc_judgement judge_torch(const struct hc_kernel_output *o)
{
    bool fp32 = o->got->format == HC_FP32;
    return fp32 && begins(o->op, "attention") ? all_close(o, 5e-6, 5e-5) : by_format(o);
}

static enum hc_judgement judge_fused(const struct hc_kernel_output *o)
{
    bool known = begins(o->op, "attention") && !has(o->op, "merge");
    return known && o->got->format == HC_BF16 ? all_close(o, 5e-2, 5e-2) : HC_NOT_APPLIED;
}

static enum hc_judgement judge_llm(const struct hc_kernel_output *o)
{
    bool entropy = has(o->op, "cross_entropy") && !has(o->op, "backward");
    if (!entropy && !has(o->op, "backward"))
        return HC_NOT_APPLIED;
    return furthest(o->got, o->real) <= (entropy ? 0.05 : 4e-3) ? HC_ACCEPTED : HC_REFUSED;
}

const struct hc_kernel_rule hc_kernel_rules[HC_KERNEL_RULES] = {
    {.name = "flash",
     .what = "FlashAttention's rule",
     .threshold =
         "largest error at most twice that of eager code in the same 16 bits; of gradients "
         "three times, and 1e-5",
     .source = "Dao-AILab/flash-attention, tests/test_flash_attn.py at 0251105a",
     .applied = "It is made for attention, and applied here to all calls in 16 bits. Eager code "
                "computes each equation of the op's definition in fp32 and stores its tensor in "
                "the format of the op's tensors.",
     .judge = judge_flash},
    {.name = "te",
     .what = "TransformerEngine's tolerances",
     .threshold = "fp32 1.3e-6 relative and 1e-5 absolute, fp16 1e-3 and 1e-5, bf16 1.6e-2 and "
                  "1e-5; attention in bf16 1.5e-2 of both kinds, softmax in bf16 2e-3",
     .source = "NVIDIA/TransformerEngine at d0067d0d, tests/pytorch/test_numerics.py, "
               "tests/pytorch/attention/test_attention.py, tests/cpp/operator/test_softmax.cu",
     .applied = "An op that they do not test has the tolerances of its format.",
     .judge = judge_te},
    {.name = "liger",
     .what = "Liger's tolerances",
     .threshold = "rms_norm in bf16 0.2 absolute and 0.02 relative, in fp32 1e-4 and 1e-6; "
                  "cross-entropy in bf16 1e-8 and 5e-2",
     .source = "linkedin/Liger-Kernel at ead96b61, test/transformers",
     .applied = "To these ops alone.",
     .judge = judge_liger},
    {.name = "torch",
     .what = "PyTorch's tolerances",
     .threshold = "those of torch.testing.assert_close; attention in fp32 5e-5 absolute and 5e-6 "
                  "relative",
     .source = "torch/testing/_comparison.py, _internal/common_methods_invocations.py",
     .applied = "To all ops.",
     .judge = judge_torch},
    {.name = "fused",
     .what = "PyTorch's test of fused attention",
     .threshold = "attention in bf16 5e-2, absolute and relative",
     .source = "pytorch/pytorch, test/test_transformers.py, fused against math on the CPU; older "
               "versions have 1e-2, and 2e-2 where causal",
     .applied = "To attention in bf16 alone.",
     .judge = judge_fused},
    {.name = "llm.c",
     .what = "llm.c's tolerances",
     .threshold = "a loss within 0.05, a gradient within 4e-3",
     .source = "karpathy/llm.c at f1e2ace, test_gpt2.cu",
     .applied = "It compares a whole GPT-2, whose gradients it allows 4e-3 to 0.5, and logits 25. "
                "Here the smallest of these holds for each gradient, and 0.05 for each loss.",
     .judge = judge_llm},
};
