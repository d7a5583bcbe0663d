/* halfcheck gen scale/RULE. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/scale/trace.h"

int hc_scale_gen(const char *name, const struct hc_gen *options)
{
    struct hc_scale_plan plan;
    struct hc_scale_trace trace;
    char line[HC_SCALE_LINE];
    char text[HC_SCALE_TEXT];
    int status = hc_scale_plan_for("gen", name, options, &plan);
    if (status != HC_AS_CLAIMED)
        return status;
    if (!hc_scale_trace_make(&plan, &trace))
        return hc_complain("gen: no memory for the trace");
    hc_scale_plan_line(&plan, line);
    puts(line);
    for (int i = 0; i < trace.lines; i++) {
        hc_scale_trace_text(&trace, i, text);
        puts(text);
    }
    free(trace.words);
    return HC_AS_CLAIMED;
}
