/* Comparing what came out with models. */
#ifndef HC_CHECK_FINGERPRINT_MODELS_H
#define HC_CHECK_FINGERPRINT_MODELS_H

#include "check/fingerprint/probe.h"

/* A unit, and what a library does around it. */
struct hc_model {
    struct hc_unit unit;
    bool c_last;  /* C is added to the unit's sum, with one rounding. */
    bool rounded; /* Products are rounded to fp32, and added one after the other to nearest. */
};

/* What was found, as a model; false if too little was. */
bool hc_model_of_findings(enum hc_format format, const struct hc_findings_of_shape *found,
                          struct hc_model *model);

/* Whether the unit takes operands of that format and gives fp32. */
bool hc_model_fits(const struct hc_unit *unit, enum hc_format format);

/* How many of the probe's sums, which have run, the model answers otherwise; counting stops above
   `most`. */
int hc_model_differences(const struct hc_probe *probe, const struct hc_model *model, int most);

/* Compares the sums with all units, and with what was found. */
void hc_find_models(const struct hc_probe *probe, struct hc_fingerprint *fingerprint);

#endif
