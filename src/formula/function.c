#include "formula/function.h"

const struct hc_function_info hc_functions[HC_FUNCTION_COUNT] = {
#define HC_FUNCTION(name, spelling, kind, least, most)                                             \
    {#name, spelling, HC_FUNCTION_##kind, least, most},
#include "formula/functions.def"
#undef HC_FUNCTION
};
