/* What a function of kind SCALE takes before its numbers: the name of a scale rule, in which '-'
   is a letter and no sign, and a format of codes. Both are words of op/scale_rules.def,
   op/delayed_rules.def and num/format.c, so that a new rule is known here at once. */
#include <stdio.h>
#include <string.h>

#include "formula/parser.h"
#include "op/descriptor.h"
#include "op/typed.h"

static const char rule_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-.";

/* Takes the rule of this name, or one that it is the end of: "floor" means "mx-floor". */
static void try_rule(struct hc_nearest *nearest, const char *name, const char *typed)
{
    size_t n = strlen(name);
    size_t m = strlen(typed);
    hc_nearest_try(nearest, name);
    if (n > m && name[n - m - 1] == '-' && strcmp(name + n - m, typed) == 0)
        hc_nearest_take(nearest, name);
}

static bool no_rule(struct hc_parser *p, const char *typed, int length, bool delayed)
{
    struct hc_nearest nearest = hc_nearest_to(typed, strlen(typed));
    for (int r = HC_DELAYED_RULE_COUNT - 1; delayed && r >= 0; r--)
        try_rule(&nearest, hc_delayed_rule_names[r], typed);
    for (int r = HC_SCALE_RULE_COUNT - 1; r > HC_SCALE_GIVEN; r--)
        try_rule(&nearest, hc_scale_rule_names[r], typed);
    const char *hint = length > 1 ? hc_nearest_hint(&nearest) : "";
    return hc_parser_wrong(p, p->token.at, length, "there is no scale rule %s%s",
                           hc_parser_quote(p->token.at, length).text,
                           *hint ? hint : ": halfcheck list scales has them");
}

static bool read_rule(struct hc_parser *p, struct hc_node *node)
{
    char typed[HC_LONGEST_NAME + 1];
    const char *at = p->token.at;
    size_t length = strspn(at, rule_letters);
    bool delayed = node->function == HC_FN_scale;
    if (length == 0)
        return hc_parser_unexpected(p, "the name of a scale rule");
    (void)snprintf(typed, sizeof typed, "%.*s", (int)length, at);
    node->rule = hc_scale_rule_by_name(typed);
    node->delayed = delayed ? hc_delayed_rule_by_name(typed) : HC_DELAYED_RULE_COUNT;
    if (length > HC_LONGEST_NAME || node->rule == HC_SCALE_GIVEN ||
        (node->rule == HC_SCALE_RULE_COUNT && node->delayed == HC_DELAYED_RULE_COUNT)) {
        if (!delayed && hc_delayed_rule_by_name(typed) != HC_DELAYED_RULE_COUNT)
            return hc_parser_wrong(p, at, (long)length,
                                   "%s looks back at former steps: scale() alone knows it",
                                   hc_parser_quote(at, (int)length).text);
        return no_rule(p, typed, (int)length, delayed);
    }
    p->end = at + length;
    p->token = hc_token_at(p->end);
    return true;
}

static bool read_codes(struct hc_parser *p, struct hc_node *node)
{
    char typed[HC_LONGEST_NAME + 1];
    if (p->token.kind != HC_TOKEN_NAME)
        return hc_parser_unexpected(p, "a format of codes, such as e4m3,");
    (void)snprintf(typed, sizeof typed, "%.*s", p->token.length, p->token.at);
    enum hc_format format = hc_format_by_name(typed);
    if (format == HC_FORMAT_COUNT || !(HC_CODE_FORMATS >> format & 1))
        return hc_parser_wrong(p, p->token.at, p->token.length,
                               "%s is no format of codes, such as e4m3 and e2m1",
                               hc_parser_quote(p->token.at, p->token.length).text);
    node->format = format;
    hc_parser_next(p);
    return true;
}

bool hc_parser_rule(struct hc_parser *p, struct hc_node *node)
{
    if (!read_rule(p, node))
        return false;
    if (!hc_parser_take(p, ","))
        return hc_parser_unexpected(p, "a comma and a format of codes, such as e4m3,");
    if (!read_codes(p, node))
        return false;
    return hc_parser_take(p, ",") || hc_parser_unexpected(p, "a comma and what is scaled");
}

bool hc_parser_fits_rule(struct hc_parser *p, const struct hc_token *name,
                         const struct hc_node *node, int operands)
{
    bool delayed = node->rule == HC_SCALE_RULE_COUNT;
    bool levels = !delayed && hc_scale_rules[node->rule].kind == HC_SCALE_OF_LEVELS;
    const char *rule =
        delayed ? hc_delayed_rule_names[node->delayed] : hc_scale_rule_names[node->rule];
    const char *what = NULL;
    if (levels && node->format != HC_E2M1)
        what = "%s is for codes in e2m1";
    else if (node->function == HC_FN_tensor_scale && !levels)
        what = "%s has one level and no scale of a tensor beside the blocks'";
    else if (node->function != HC_FN_tensor_scale && levels && operands == 1)
        what = "%s has two levels: the tensor, or its amax, comes behind the block";
    else if (!levels && !delayed && operands == 2)
        what = "%s makes its scale of one block or tensor alone";
    return !what || hc_parser_wrong(p, name->at, p->end - name->at, what, rule);
}
