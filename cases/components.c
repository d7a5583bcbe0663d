#include "cases/components.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    const char *claims;
} components[] = {
    {"batchnorm", "batch norm's statistics, conversions and evaluation"},
    {"bits", "other backends give exact's bits where the contract says"},
    {"border", "every op is right where kernels change their way"},
    {"checkpoint", "a resumed run has the same bits; what a lost part costs"},
    {"clipping", "clipping to a norm, reciprocal and clamp included"},
    {"data", "crops, flips and normalisation"},
    {"decay", "weight decay and its order"},
    {"def", "every definition of the library, within the bound of its text"},
    {"elementwise", "scalar parameters"},
    {"eps", "what half and bf16 make of epsilons, and what follows"},
    {"field", "reported bugs: the buggy arm shows them, the fixed not"},
    {"groups", "parameter groups, their rates and decays"},
    {"loss", "softmax cross-entropy"},
    {"master", "fp32 masters and the model's copies"},
    {"memory", "what kernels touch, and what their threads share"},
    {"nan", "what becomes of NaNs"},
    {"op", "every op, in every mix of formats, is within its bound"},
    {"optimizer", "the bits of Adam in every order of roundings"},
    {"order", "the order of unscale, clip, step and update"},
    {"products", "sums of products"},
    {"ranks", "data parallel training gives what one rank gives"},
    {"rounding", "conversions and arithmetic, on every input or on samples"},
    {"scale", "the scales of tensors below half follow every system's rule"},
    {"scaler", "the loss scaler follows every system's rule step by step"},
    {"seeds", "the numbers of five texts on training in half, judged"},
    {"size", "every op is right at the sizes that models have"},
    {"skip", "what a step with an overflow moves, under every recipe"},
    {"stochastic", "stochastic rounding and Kahan's compensation"},
    {"training", "a small network learns, each call within its bound"},
    {"underflow", "gradients that vanish, and what a loss scale brings back"},
    {"units", "what a matrix unit does to sums of products"},
    {"witness", "no bound has grown: a right result still comes near to it"},
};

const char *hc_component_claims(const char *component)
{
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        if (strcmp(components[i].name, component) == 0)
            return components[i].claims;
    return NULL;
}
