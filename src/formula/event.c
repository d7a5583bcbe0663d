#include "formula/evaluation.h"

void hc_note(struct hc_evaluation *e, const struct hc_operation *operation, const double *x,
             const struct hc_defined *result)
{
    (void)e;
    (void)operation;
    (void)x;
    (void)result;
}

void hc_note_literal(struct hc_evaluation *e, const struct hc_node *node, enum hc_format format,
                     const struct hc_real *x, double result)
{
    (void)e;
    (void)node;
    (void)format;
    (void)x;
    (void)result;
}
void hc_event_text(const struct hc_event *event, char *buffer, size_t size)
{
    (void)event;
    if (size)
        *buffer = 0;
}
