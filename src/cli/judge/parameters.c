/* The parameters that a judgement was made with. A report that leaves them out reads alike for a
   rule that was asked for and for one that nobody named. */
#include <stdlib.h>
#include <string.h>

#include "cli/judge/answer.h"
#include "op/params.h"
#include "op/text.h"

/* Reals as people write them, and not in hex. */
static void value_text(const struct hc_param *p, const union hc_params *params,
                       char text[HC_PARAM_TEXT])
{
    hc_param_text(p, params, text);
    if (!p->count && (p->kind == HC_PARAM_REAL || p->kind == HC_PARAM_SINGLE))
        (void)hc_text_write(text, HC_PARAM_TEXT, "%.9g", strtod(text, NULL));
}

/* Words and formats choose what is computed, so they are told always; of the others those are that
   somebody has set. */
void hc_answer_parameters(const struct hc_call *call, char text[HC_PARAMETERS_TEXT])
{
    union hc_params usual;
    size_t used = 0;
    text[0] = '\0';
    hc_params_usual(call->op, &usual);
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        char value[HC_PARAM_TEXT], otherwise[HC_PARAM_TEXT];
        value_text(p, &call->params, value);
        value_text(p, &usual, otherwise);
        bool same = strcmp(value, otherwise) == 0;
        if (!same || p->kind == HC_PARAM_WORD || p->kind == HC_PARAM_FORMAT)
            used +=
                (size_t)hc_text_write(text + used, HC_PARAMETERS_TEXT - used, "%s%s=%s%s",
                                      used ? ", " : "", p->name, value, same ? " (default)" : "");
    }
}

json_t *hc_answer_parameters_json(const struct hc_call *call)
{
    json_t *all = json_object();
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        char value[HC_PARAM_TEXT];
        hc_param_json(p, &call->params, value);
        (void)json_object_set_new(all, p->name, json_loads(value, JSON_DECODE_ANY, NULL));
    }
    return all;
}
