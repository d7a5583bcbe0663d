/* A unit of scalar arithmetic in one format, so that a recurrence is written once and run twice: on
   the backend under test (got) and by its definition (want). */
#ifndef HC_CASES_UNIT_H
#define HC_CASES_UNIT_H

#include "case.h"

struct hc_scalar {
    struct hc_check *check; /* the backend under test; NULL: the definition */
    enum hc_format format;
    bool failed; /* the backend could not; the verdict is set, and every result from here on is NaN
                  */
};

/* One operation of add, sub, mul, div, sqrt, fma on values of the unit's format (operands that the
   operation lacks are not looked at). By the definition: the real result from MPFR, rounded once to
   nearest. On a backend: the op on one element. */
double hc_scalar_op(struct hc_scalar *scalar, enum hc_op op, double x, double y, double z);

double hc_scalar_add(struct hc_scalar *scalar, double x, double y);
double hc_scalar_sub(struct hc_scalar *scalar, double x, double y);
double hc_scalar_mul(struct hc_scalar *scalar, double x, double y);
double hc_scalar_div(struct hc_scalar *scalar, double x, double y);
double hc_scalar_sqrt(struct hc_scalar *scalar, double x);

/* A value of the format `from` in the unit's format: the op cast. */
double hc_scalar_cast(struct hc_scalar *scalar, enum hc_format from, double x);

/* An fp32 master in the unit's format: the op master_to_model. */
double hc_scalar_model(struct hc_scalar *scalar, double master);

/* The decimal number itself, rounded once to nearest. */
double hc_decimal(enum hc_format format, const char *decimal);

#endif
