#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cases/components.h"
#include "cases/fixture/bug.h"
#include "cases/registry.h"

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
    {"transformer", "attention and tables of rows, where random numbers show little"},
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

enum { MAX_MECHANISMS = 128 };

static struct hc_mechanism mechanisms[MAX_MECHANISMS];

static void add_fault(struct hc_mechanism *m, const char *fault)
{
    int i = 0;
    while (m->faults[i] && strcmp(m->faults[i], fault) != 0)
        i++;
    assert(i < HC_MECHANISM_FAULTS);
    m->faults[i] = fault;
}

const struct hc_mechanism *hc_mechanisms(int *n)
{
    int cases;
    const struct hc_case *const *all = hc_all_cases(&cases);
    *n = 0;
    memset(mechanisms, 0, sizeof mechanisms);
    for (int i = 0; i < cases; i++) { /* they are sorted by name */
        const struct hc_bug *bug = hc_bug_of(all[i]);
        char name[sizeof mechanisms->name];
        if (!bug || sscanf(all[i]->name, "field/%47[^/]/", name) != 1)
            continue;
        if (*n == 0 || strcmp(mechanisms[*n - 1].name, name) != 0) {
            assert(*n < MAX_MECHANISMS);
            memcpy(mechanisms[(*n)++].name, name, sizeof name);
        }
        mechanisms[*n - 1].rows++;
        if (bug->fault)
            add_fault(&mechanisms[*n - 1], bug->fault);
    }
    return mechanisms;
}
