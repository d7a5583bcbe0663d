/* Requests to end a run: SIGTERM, SIGINT and, unless nohup has it ignored, SIGHUP. */
#ifndef HC_CLI_STOP_H
#define HC_CLI_STOP_H

/* From now on the first request is only remembered. A second one, more than a second later, ends
   the program. The thread that calls it, the first one, takes the requests. */
void hc_stop_on_request(void);

/* Says so on stderr when that is asked for, also where it is no terminal: mpirun and Slurm end what
   does not end soon, and the reader of their logs would not know why. */
void hc_stop_announce(void);

/* The signal that asked the program to end, or 0. */
int hc_stop_signal(void);

#endif
