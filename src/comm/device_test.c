/* Loading the plug-in of NCCL, also the one that is linked with the real library. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "comm/device.h"

static void expect_refused(const char *path, const char *line)
{
    const struct hc_device_comm_kind *kind;
    (void)setenv("HALFCHECK_NCCL_PLUGIN", path, 1);
    cr_expect_eq(hc_device_comm_load(&kind), HC_UNSUPPORTED);
    cr_expect_null(kind);
    cr_expect_eq(strncmp(hc_message(), "nccl: ", 6), 0, "%s", hc_message());
    cr_expect_not_null(strstr(hc_message(), line), "%s", hc_message());
}

Test(device, a_plug_in_that_is_not_there_is_named)
{
    expect_refused("/nowhere/nccl.so", "/nowhere/nccl.so cannot be read");
}

Test(device, a_file_that_is_no_library_is_refused)
{
    expect_refused(HC_SOURCE "/README.md", "cannot load ");
}

#ifdef HC_NO_PLUGIN
Test(device, a_library_without_the_entry_is_refused)
{
    expect_refused(HC_NO_PLUGIN, "is no plug-in for the memory of GPUs");
}
#endif

#ifdef HC_REAL_NCCL
/* Without a GPU the real library loads and says its version, and there is a line in place of a
   communicator. With one, a rank alone has one. */
Test(device, the_real_library_answers)
{
    const struct hc_device_comm_kind *kind;
    struct hc_device_comm *device;
    char title[64];
    (void)setenv("HALFCHECK_NCCL_PLUGIN", HC_REAL_NCCL, 1);
    cr_assert_eq(hc_device_comm_load(&kind), HC_OK, "%s", hc_message());
    kind->title(title);
    cr_expect_eq(strncmp(title, "NCCL 2.", 7), 0, "%s", title);
    enum hc_status status = kind->open(&device, hc_comm_self());
    cr_expect(status == HC_OK || strstr(hc_message(), "nccl: rank 0 on "), "%s", hc_message());
    cr_expect(status == HC_OK || strstr(hc_message(), ": no GPU: "), "%s", hc_message());
    kind->close(device);
}
#endif
