/* How systems scale tensors before they round them below half: a rule each, as executable
   specifications. The rows are in op/scale_rules.def, the arithmetic, which kernels share, in
   kernels/element/scale_rule.h, and an independent statement of each in reference/. */
#ifndef HC_OP_SCALE_RULE_H
#define HC_OP_SCALE_RULE_H

#include <stdbool.h>

#include "num/format.h"

/* Rules without a state: from an amax to a scale. */
enum hc_scale_rule {
    HC_SCALE_GIVEN, /* the multiplier is an input, as in delayed scaling */
#define HC_SCALE(id, name, kind, title, source, defects) HC_SCALE_##id,
#include "op/scale_rules.def"
#undef HC_SCALE
    HC_SCALE_RULE_COUNT
};

/* What a rule scales, and how it stores the scale. */
enum hc_scale_kind {
    HC_SCALE_OF_FP32,  /* one fp32 scale a block or tensor, from its own amax */
    HC_SCALE_OF_E8M0,  /* one power of two a block */
    HC_SCALE_OF_LEVELS /* one ue4m3 a block, and one fp32 a tensor */
};

struct hc_scale_rule_info {
    const char *name;
    enum hc_scale_kind kind;
    const char *title;
    const char *source;  /* repository @commit or version, file */
    const char *defects; /* what is known to be wrong with it, or NULL */
};

extern const struct hc_scale_rule_info hc_scale_rules[HC_SCALE_RULE_COUNT];

/* The rule of this name, or HC_SCALE_RULE_COUNT. */
enum hc_scale_rule hc_scale_rule_by_name(const char *name);

/* Rules with a state: delayed scaling. */
enum hc_delayed_rule {
#define HC_DELAYED(id, name, title, source, defects) HC_DELAYED_##id,
#include "op/delayed_rules.def"
#undef HC_DELAYED
    HC_DELAYED_RULE_COUNT
};

struct hc_delayed_rule_info {
    const char *name;
    const char *title;
    const char *source;
    const char *defects;
};

extern const struct hc_delayed_rule_info hc_delayed_rules[HC_DELAYED_RULE_COUNT];

enum hc_delayed_rule hc_delayed_rule_by_name(const char *name);

/* Names for parameters' words, in the order of the enumerations; they end with NULL. */
extern const char *const hc_scale_rule_names[HC_SCALE_RULE_COUNT + 1];
extern const char *const hc_delayed_rule_names[HC_DELAYED_RULE_COUNT + 1];

/* The format in which the rule's scales are stored: fp32, e8m0 or ue4m3. */
enum hc_format hc_scale_format(enum hc_scale_rule rule);

#endif
