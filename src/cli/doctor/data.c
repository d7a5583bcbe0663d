/* CIFAR-10, for trainings. */
#include <stdio.h>
#include <sys/stat.h>

#include "cli/doctor/doctor.h"
#include "train/data/data.h"

/* Where people put the files, seen from the current folder. */
static const char *const places[] = {"cifar-10-batches-bin", "data/cifar-10-batches-bin"};

static const char *find(void)
{
    char path[64];
    struct stat file;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        (void)snprintf(path, sizeof path, "%s/test_batch.bin", places[i]);
        if (stat(path, &file) == 0)
            return places[i];
    }
    return NULL;
}

void hc_doctor_data(struct hc_doctor *doctor)
{
    static const char costs[] = "train and compare take a synthetic set, which tells less";
    static const char repair[] = "unpack CIFAR-10's binary version, and give its folder: "
                                 "halfcheck doctor --data DIR";
    const char *folder = doctor->data ? doctor->data : find();
    if (!folder) {
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "cifar-10",
                       "no folder was named, and none is here", costs, repair);
        return;
    }
    char found[640];
    struct hc_dataset set;
    const struct hc_data_options options = {.directory = folder};
    bool read = hc_dataset_open(&options, &set) == HC_OK;
    (void)snprintf(found, sizeof found, "%s", read ? set.origin : hc_message());
    hc_dataset_close(&set);
    if (read)
        hc_doctor_tell(doctor, HC_HEALTH_OK, "cifar-10", found, NULL, NULL);
    else
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "cifar-10", found, costs, repair);
}
