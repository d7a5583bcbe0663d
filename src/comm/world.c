#include "comm/comm.h"

struct hc_comm *hc_comm_world(void)
{
    return hc_comm_self();
}

void hc_comm_end(int exit_status)
{
    (void)exit_status;
}
