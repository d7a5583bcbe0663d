#include "op/scale_rule.h"

#include <stddef.h>
#include <string.h>

const struct hc_scale_rule_info hc_scale_rules[HC_SCALE_RULE_COUNT] = {
    [HC_SCALE_GIVEN] = {"given", HC_SCALE_OF_FP32, "the multiplier is an input", "", NULL},
#define HC_SCALE(id, name, kind, title, source, defects)                                           \
    [HC_SCALE_##id] = {name, HC_SCALE_##kind, title, source, defects},
#include "op/scale_rules.def"
#undef HC_SCALE
};

const struct hc_delayed_rule_info hc_delayed_rules[HC_DELAYED_RULE_COUNT] = {
#define HC_DELAYED(id, name, title, source, defects) {name, title, source, defects},
#include "op/delayed_rules.def"
#undef HC_DELAYED
};

const char *const hc_scale_rule_names[HC_SCALE_RULE_COUNT + 1] = {
    "given",
#define HC_SCALE(id, name, kind, title, source, defects) name,
#include "op/scale_rules.def"
#undef HC_SCALE
    NULL,
};

const char *const hc_delayed_rule_names[HC_DELAYED_RULE_COUNT + 1] = {
#define HC_DELAYED(id, name, title, source, defects) name,
#include "op/delayed_rules.def"
#undef HC_DELAYED
    NULL,
};

enum hc_scale_rule hc_scale_rule_by_name(const char *name)
{
    int r = 0;
    while (r < HC_SCALE_RULE_COUNT && strcmp(hc_scale_rule_names[r], name) != 0)
        r++;
    return (enum hc_scale_rule)r;
}

enum hc_delayed_rule hc_delayed_rule_by_name(const char *name)
{
    int r = 0;
    while (r < HC_DELAYED_RULE_COUNT && strcmp(hc_delayed_rule_names[r], name) != 0)
        r++;
    return (enum hc_delayed_rule)r;
}

enum hc_format hc_scale_format(enum hc_scale_rule rule)
{
    static const enum hc_format formats[] = {[HC_SCALE_OF_FP32] = HC_FP32,
                                             [HC_SCALE_OF_E8M0] = HC_E8M0,
                                             [HC_SCALE_OF_LEVELS] = HC_UE4M3};
    return formats[hc_scale_rules[rule].kind];
}
