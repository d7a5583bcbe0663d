/* What `halfcheck doctor` finds: what is here, what is missing, what that costs, and what repairs
   it. */
#ifndef HC_CLI_DOCTOR_DOCTOR_H
#define HC_CLI_DOCTOR_DOCTOR_H

#include <jansson.h>

#include "cli/backend_options.h"

enum hc_health {
    HC_HEALTH_OK,
    HC_HEALTH_MISSING, /* halfcheck does without it; `costs` says what that costs */
    HC_HEALTH_BROKEN,  /* no result can be relied on */
    HC_HEALTH_STATES
};

struct hc_doctor {
    const char *data; /* the folder of CIFAR-10, or NULL */
    json_t *findings;
    int count[HC_HEALTH_STATES];
};

/* Adds a finding. `costs` and `repair` are NULL where all is well; a repair is a command, or one
   sentence. The texts are copied. */
void hc_doctor_add(struct hc_doctor *doctor, enum hc_health health, const char *name,
                   const char *found, const char *costs, const char *repair);

/* The examinations. */
void hc_doctor_machine(struct hc_doctor *doctor);
void hc_doctor_libraries(struct hc_doctor *doctor);
void hc_doctor_backends(struct hc_doctor *doctor);
void hc_doctor_ranks(struct hc_doctor *doctor);
void hc_doctor_tools(struct hc_doctor *doctor);
void hc_doctor_data(struct hc_doctor *doctor);
void hc_doctor_terminal(struct hc_doctor *doctor);

#endif
