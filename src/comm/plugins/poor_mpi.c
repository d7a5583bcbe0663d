/* A plug-in for ranks that lacks most functions, and takes a signal for itself, as UCX does, with
   which Open MPI may be built, for src/comm/plugin_test.c. */
#include <signal.h>

#include "comm/plugin.h"

static void ignore_it(int number)
{
    (void)number;
}

__attribute__((constructor)) static void take_signal(void)
{
    (void)signal(SIGHUP, ignore_it);
}

static void close_it(struct hc_comm *comm)
{
    (void)comm;
}

static enum hc_status open_it(struct hc_comm *comm, const struct hc_comm_services *services)
{
    (void)comm;
    return services->fail(HC_DEVICE, "never opened");
}

static const struct hc_comm_kind kind = {
    .abi = HC_COMM_ABI, .name = "poor", .title = "poor", .close = close_it};
static const struct hc_comm_plugin poor = {HC_COMM_ABI, &kind, open_it};

hc_comm_plugin_entry hc_comm_plugin;
const struct hc_comm_plugin *hc_comm_plugin(void)
{
    return &poor;
}
