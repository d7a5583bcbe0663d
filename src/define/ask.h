/* Searches for inputs at critical places of a definition, with its derivatives: an eps as large as
   what it is added to, an intermediate number at the limits of a format, a difference that cancels,
   a sum in which all terms but one are lost, a comparison of equal numbers. */
#ifndef HC_DEFINE_ASK_H
#define HC_DEFINE_ASK_H

#include "define/value.h"

/* A critical place that was found: the value of the expression there, or of what an eps is added
   to. */
struct hc_asked {
    const struct hc_expression *expression;
    const char *what; /* "cancels", say */
    double value;
};

enum { HC_MAX_ASKED = 256 };

/* Changes drawn inputs so that one call has as many critical places as fit: each changes only
   elements that no other one depends on. `seed` says where the search begins in the list of places.
   `asked` gets *found of them, at most HC_MAX_ASKED, and none if the inputs are too large.
   HC_INVALID if the inputs do not suit the text; HC_NO_MEMORY. */
enum hc_status hc_define_ask(struct hc_instance *instance, uint64_t seed, struct hc_asked *asked,
                             int *found);

/* What the search looks for in this definition, and in which expressions: calls `say` for each, all
   expressions of one thing one after the other. The inputs are drawn and have data. HC_INVALID if
   they do not suit the text; HC_NO_MEMORY. */
typedef void hc_wish_said(void *context, const char *thing, const struct hc_expression *expression);
enum hc_status hc_define_wishes(struct hc_instance *instance, hc_wish_said *say, void *context);

#endif
