/* Waiting for MPI, with other programs on the same cores, and with ranks that may be lost. */
#ifndef HC_COMM_MPI_WAIT_H
#define HC_COMM_MPI_WAIT_H

#include <mpi.h>

#include "comm/plugin.h"

/* This process's part: what `self` of its comm points to. */
struct hc_mpi {
    MPI_Comm world; /* our own copy, whose messages no other library takes for its own */
    const struct hc_comm_services *services;
};

/* HC_DEVICE, with a line, for a status of MPI other than MPI_SUCCESS. */
enum hc_status hc_mpi_status(const struct hc_mpi *mpi, const char *what, int code);

/* Waits until all requests are done. peers[i] is the rank that request i is for, -1 for all. */
enum hc_status hc_mpi_wait(const struct hc_mpi *mpi, const char *what, int count,
                           MPI_Request *requests, MPI_Status *statuses, const int *peers);

#endif
