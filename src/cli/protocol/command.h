/* `halfcheck compare --protocol FILE`. */
#ifndef HC_CLI_PROTOCOL_COMMAND_H
#define HC_CLI_PROTOCOL_COMMAND_H

#include "cli/training/training.h"

struct hc_protocol_request {
    const char *path;
    const char *shard; /* "3/16", or NULL */
    bool conclude;     /* train nothing: say what the runs that are there show */
};

/* Trains what the protocol asks for, and concludes. `training` has the options as they were typed;
   those that the protocol decides are set. Returns the exit status: 0 if no claim failed, 1 if one
   did or is not decided, 2 after a failure, with a line on stderr. */
int hc_protocol_command(struct hc_training *training, const struct hc_protocol_request *request);

#endif
