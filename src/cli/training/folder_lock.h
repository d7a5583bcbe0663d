/* One writer to a folder of results. */
#ifndef HC_CLI_TRAINING_FOLDER_LOCK_H
#define HC_CLI_TRAINING_FOLDER_LOCK_H

#include "op/status.h"

/* Makes the folder if it is not there and takes its lock, the file ".lock" in it, which the kernel
   gives back when the process ends, however it does. HC_IO with a line that names the folder, and
   who writes there where somebody does. */
enum hc_status hc_folder_lock(const char *folder, int *lock);

/* Gives it back; -1 is none. The file stays. */
void hc_folder_unlock(int lock);

#endif
