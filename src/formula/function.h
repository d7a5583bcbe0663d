/* The functions of a formula: functions.def as data. */
#ifndef HC_FORMULA_FUNCTION_H
#define HC_FORMULA_FUNCTION_H

enum hc_function_kind {
    HC_FUNCTION_OP,       /* an op of the op table, rounded once */
    HC_FUNCTION_LIBRARY,  /* rounded once, but no op: every backend has the definition's value */
    HC_FUNCTION_EXACT,    /* needs no rounding */
    HC_FUNCTION_TRUTH,    /* 0 or 1 */
    HC_FUNCTION_CONSTANT, /* between constants alone */
    HC_FUNCTION_LIST,     /* takes a list, or a number of terms and a term */
    HC_FUNCTION_SCALE     /* takes a scale rule and a format of codes, and then numbers */
};

enum hc_function {
#define HC_FUNCTION(name, spelling, kind, least, most) HC_FN_##name,
#include "formula/functions.def"
#undef HC_FUNCTION
    HC_FUNCTION_COUNT
};

struct hc_function_info {
    const char *name;
    const char *spelling;
    enum hc_function_kind kind;
    int least; /* operands */
    int most;
};

extern const struct hc_function_info hc_functions[HC_FUNCTION_COUNT];

#endif
