/* The operations, constants and numbers of FPCore, in a definition's words. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/fpcore/core.h"

struct operation {
    const char *name;
    int operands;     /* -1: any number of them, joined */
    const char *text; /* where $1 and $2 stand for the operands, and #1 for one that is held */
    bool truth;
};

static const struct operation operations[] = {
    {"+", -1, " + ", false},
    {"*", -1, " * ", false},
    {"and", -1, " and ", true},
    {"or", -1, " or ", true},
    {"not", 1, "not #1", true},
    {"/", 2, "#1 / #2", false},
    {"fabs", 1, "abs($1)", false},
    {"sqrt", 1, "sqrt($1)", false},
    {"exp", 1, "exp($1)", false},
    {"exp2", 1, "exp(#1 * log(2))", false},
    {"expm1", 1, "exp($1) - 1", false},
    {"log", 1, "log($1)", false},
    {"log1p", 1, "log1p($1)", false},
    {"log2", 1, "log($1) / log(2)", false},
    {"log10", 1, "log($1) / log(10)", false},
    {"sin", 1, "sin($1)", false},
    {"cos", 1, "cos($1)", false},
    {"tan", 1, "sin($1) / cos($1)", false},
    {"tanh", 1, "tanh($1)", false},
    {"sinh", 1, "(exp($1) - exp(-#1)) / 2", false},
    {"cosh", 1, "(exp($1) + exp(-#1)) / 2", false},
    {"erf", 1, "erf($1)", false},
    {"floor", 1, "floor($1)", false},
    {"ceil", 1, "-floor(-#1)", false},
    {"hypot", 2, "sqrt(#1^2 + #2^2)", false},
    {"fmax", 2, "max($1, $2)", false},
    {"fmin", 2, "min($1, $2)", false},
    {"fma", 3, "fma($1, $2, $3)", false},
    {"isnan", 1, "isnan($1)", true},
    {"isinf", 1, "isinf($1)", true},
    {"isfinite", 1, "isfinite($1)", true},
};

static const char *const constants[][2] = {
    {"E", "exp(1)"},           {"PI", "pi"},
    {"PI_2", "(pi / 2)"},      {"PI_4", "(pi / 4)"},
    {"M_1_PI", "(1 / pi)"},    {"M_2_PI", "(2 / pi)"},
    {"LN2", "log(2)"},         {"LN10", "log(10)"},
    {"LOG2E", "(1 / log(2))"}, {"LOG10E", "(1 / log(10))"},
    {"SQRT2", "sqrt(2)"},      {"SQRT1_2", "sqrt(0.5)"},
    {"INFINITY", "inf"},       {"NAN", "nan"},
};

/* A number: 1, -0.5, 2/3, 0x1.8p3. */
static bool number(const char *word, int length, struct hc_core_text *out)
{
    char copy[64];
    char *end;
    if (length >= (int)sizeof copy)
        return false;
    (void)snprintf(copy, sizeof copy, "%.*s", length, word);
    char *digits = copy + (copy[0] == '+' || copy[0] == '-');
    if (!isdigit((unsigned char)digits[0]) && digits[0] != '.')
        return false;
    (void)strtod(digits, &end);
    if (*end == '/' && isdigit((unsigned char)end[1]))
        (void)strtod(end + 1, &end);
    if (*end)
        return false;
    bool alone = copy[0] != '-' && !strchr(digits, '/');
    hc_core_put(out, alone ? "%.0s%s" : "(%s%s)", copy[0] == '-' ? "-" : "", digits);
    return true;
}

bool hc_core_constant(const char *word, int length, struct hc_core_text *out)
{
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (hc_core_is(word, length, constants[i][0])) {
            hc_core_put(out, "%s", constants[i][1]);
            return true;
        }
    return number(word, length, out);
}

/* In parentheses, unless it is a name or a number. */
static void put_held(struct hc_core_text *out, const struct hc_core_text *operand)
{
    size_t plain = 0;
    while (isalnum((unsigned char)operand->at[plain]) || strchr("_.", operand->at[plain])) {
        if (!operand->at[plain])
            break;
        plain++;
    }
    hc_core_put(out, plain == operand->length || operand->at[0] == '(' ? "%s" : "(%s)",
                operand->at);
}

/* Writes the operation's text with the operands in their places. */
static void fill(struct hc_core_text *out, const char *form, const struct hc_core_text *operand)
{
    for (; *form; form++) {
        if (*form == '#')
            put_held(out, &operand[*++form - '1']);
        else if (*form == '$')
            hc_core_put(out, "%s", operand[*++form - '1'].at);
        else
            hc_core_put(out, "%c", *form);
    }
}

/* x^n for a whole number n, as a product of powers that a definition has. */
static bool power(struct hc_core_reader *r, struct hc_core_text *out, const struct hc_core_text *x,
                  const char *n)
{
    char *end;
    long whole = strtol(n + (n[0] == '('), &end, 10);
    if (end == n || (*end && strcmp(end, ")") != 0) || labs(whole) > 81)
        return hc_core_lacks(r, "pow but by a whole number", 25);
    long left = labs(whole);
    hc_core_put(out, whole < 0 ? "(1 / (" : "(");
    do {
        long some = left < 9 ? left : 9;
        if (some == 0) {
            hc_core_put(out, "1");
            break;
        }
        put_held(out, x);
        left -= some;
        hc_core_put(out, left ? "^%ld * " : "^%ld", some);
    } while (left > 0);
    hc_core_put(out, whole < 0 ? "))" : ")");
    return true;
}

/* Each operand compared with the next; != with all that come after it. */
static void compare(struct hc_core_text *out, const char *sign, const struct hc_core_text *operand,
                    int count)
{
    bool all = strcmp(sign, "!=") == 0;
    hc_core_put(out, "(");
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < (all ? count : i + 2) && j < count; j++) {
            hc_core_put(out, i || j > 1 ? " and " : "");
            put_held(out, &operand[i]);
            hc_core_put(out, " %s ", sign);
            put_held(out, &operand[j]);
        }
    hc_core_put(out, count < 2 ? "true)" : ")");
}

bool hc_core_apply(struct hc_core_reader *r, const char *word, int length,
                   struct hc_core_text *operand, int count, struct hc_core_text *out, bool *truth)
{
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (hc_core_is(word, length, signs[i])) {
            *truth = true;
            compare(out, signs[i], operand, count);
            return true;
        }
    if (hc_core_is(word, length, "-") && (count == 1 || count == 2)) {
        hc_core_put(out, "(");
        fill(out, count == 1 ? "-#1" : "#1 - #2", operand);
        hc_core_put(out, ")");
        return true;
    }
    if (hc_core_is(word, length, "pow") && count == 2)
        return power(r, out, &operand[0], operand[1].at);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        const struct operation *o = &operations[i];
        if (!hc_core_is(word, length, o->name) || count < 1 ||
            (o->operands > 0 && o->operands != count))
            continue;
        *truth = o->truth;
        if (o->operands > 0) {
            hc_core_put(out, "(");
            fill(out, o->text, operand);
            hc_core_put(out, ")");
            return true;
        }
        hc_core_put(out, "(%s", operand[0].at);
        for (int k = 1; k < count; k++)
            hc_core_put(out, "%s%s", o->text, operand[k].at);
        hc_core_put(out, ")");
        return true;
    }
    return hc_core_lacks(r, word, length);
}
