/* What a right implementation may do, with what it costs, as sentences: the table of
   define/value.h for people. */
#ifndef HC_DEFINE_FREEDOM_H
#define HC_DEFINE_FREEDOM_H

#include "define/value.h"

struct hc_freedom {
    char what[96];
    char cost[96];
};

enum { HC_MAX_FREEDOMS = 16 };

/* The freedoms that matter to the definition, and how many they are. */
int hc_freedoms_of(const struct hc_definition *definition, const struct hc_freedoms *freedoms,
                   struct hc_freedom freedom[HC_MAX_FREEDOMS]);

#endif
