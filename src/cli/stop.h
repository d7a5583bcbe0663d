/* Requests to end a run: SIGTERM and SIGINT. */
#ifndef HC_CLI_STOP_H
#define HC_CLI_STOP_H

/* From now on a first request is only kept; a second one, more than a second later, ends the program. */
void hc_stop_on_request(void);

/* The signal by which the program was asked to end, or 0. */
int hc_stop_signal(void);

#endif
