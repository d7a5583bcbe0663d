/* One call as it goes to the program and comes back: the line, and where the bytes of its tensors
   lie meanwhile. */
#ifndef HC_KERNELS_PIPE_REQUEST_H
#define HC_KERNELS_PIPE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/call.h"
#include "backend.h"

/* A tensor of the call. `sent` has the shape that the program sees, and lies `at` bytes into the
   staging memory, or in the caller's memory if nothing has to be changed on the way. */
struct hc_request_part {
    const char *slot;
    bool output;
    bool permuted;
    size_t at;
    struct hc_tensor own;
    struct hc_tensor sent;
};

/* A request has a part for each tensor of a definition, or for each slot of an op. */
enum { HC_REQUEST_PARTS = 64, HC_REQUEST_LINE = 1 << 15, HC_REQUEST_NAME = 160 };

struct hc_request {
    char name[HC_REQUEST_NAME]; /* "adamw bf16 [37]", for lines about what went wrong */
    int count;                  /* inputs first */
    struct hc_request_part part[HC_REQUEST_PARTS];
    size_t bytes;  /* of all tensors */
    size_t staged; /* so much staging memory is needed; 0: none */
    bool shared;   /* everything goes by it, and the program sees it */
    size_t length; /* of the line, with its newline */
    char line[HC_REQUEST_LINE];
};

/* Lays the call out: in [N, C, H, W] where images and filters are meant and `nchw` is set, by
   shared memory if that `may_share` and the call is large enough. */
void hc_request_plan(struct hc_request *request, const struct hc_call *call, bool nchw,
                     bool may_share);

/* The same for a call of a definition, whose axes stay as the text has them. */
void hc_request_plan_defined(struct hc_request *request, const struct hc_defined_call *call,
                             bool may_share);

/* Puts the inputs into the staging memory, as far as they go by it, and points the parts to it. */
void hc_request_stage(struct hc_request *request, unsigned char *memory);

/* Writes the line. `number` counts calls, and `memory` is the size of the shared memory. */
void hc_request_write(struct hc_request *request, const struct hc_call *call, uint64_t number,
                      size_t memory);
void hc_request_write_defined(struct hc_request *request, const struct hc_defined_call *call,
                              uint64_t number, size_t memory);

/* Takes the outputs out of the staging memory. */
void hc_request_take(const struct hc_request *request);

#endif
