#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cast/plan.h"
#include "cli/subject.h"

int hc_cast_gen(const char *name, const struct hc_gen *gen)
{
    const struct hc_cast_options options = {gen->from, gen->kind, gen->direction, gen->saturate};
    struct hc_cast_plan plan;
    char line[HC_CAST_LINE];
    size_t count = 0;
    int status = hc_cast_plan_for("gen", name + sizeof "cast/" - 1, &options, &plan);
    if (status != HC_AS_CLAIMED)
        return status;
    uint32_t *inputs = hc_cast_inputs(&plan, &count);
    if (!inputs)
        return hc_complain("gen: no memory for the inputs");
    hc_cast_plan_line(&plan, false, line);
    puts(line);
    for (size_t i = 0; i < count; i++)
        printf("%0*" PRIx32 "\n", hc_cast_digits(plan.from), inputs[i]);
    free(inputs);
    return HC_AS_CLAIMED;
}
