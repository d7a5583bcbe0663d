/* Which trace halfcheck gen scale/RULE makes and halfcheck verify expects. gen prints its plan in
   the first line, and verify makes the trace again from that. */
#ifndef HC_CLI_SCALE_PLAN_H
#define HC_CLI_SCALE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/subject.h"
#include "op/quant.h"

struct hc_scale_plan {
    bool has_history; /* then `delayed` is the rule, and otherwise `rule` */
    enum hc_scale_rule rule;
    struct hc_delayed_scale delayed;
    enum hc_format codes; /* what elements are rounded into */
    enum hc_format input; /* of the elements: fp32, bf16 or fp16 */
    int window;           /* entries of the history */
    uint64_t seed;
};

enum { HC_SCALE_WINDOW = 4096, HC_SCALE_MARGIN = 32 };

/* What the option --codes chooses from. It ends with NULL. */
extern const char *const hc_scale_code_names[];

/* Sets the plan from "scale/RULE" and gen's options. HC_AS_CLAIMED; or HC_WRONG, with a line. */
int hc_scale_plan_for(const char *command, const char *name, const struct hc_gen *options,
                      struct hc_scale_plan *plan);

/* The rule's name, without its folder. */
const char *hc_scale_plan_rule(const struct hc_scale_plan *plan);

/* The plan as a comment line with gen's command in it; no newline. */
enum { HC_SCALE_LINE = 200 };
void hc_scale_plan_line(const struct hc_scale_plan *plan, char line[HC_SCALE_LINE]);

/* Whether a line looks like one; and reads the plan in it, HC_AS_CLAIMED or HC_WRONG as above. */
bool hc_scale_plan_is(const char *line);
int hc_scale_plan_read(const char *line, struct hc_scale_plan *plan);

/* A line as messages quote it: up to its end, of which "..." stands for what is beyond 60 bytes. */
enum { HC_SCALE_ECHO = 64 };
void hc_scale_echo(const char *line, char echo[HC_SCALE_ECHO]);

#endif
