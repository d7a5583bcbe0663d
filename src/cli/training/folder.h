/* A folder of results has one writer at a time. */
#ifndef HC_CLI_TRAINING_FOLDER_H
#define HC_CLI_TRAINING_FOLDER_H

#include "op/status.h"

/* Makes a folder and those above it, as far as they are missing. */
enum hc_status hc_make_folder(const char *path);

/* Makes the folder, if necessary, and locks the file ".lock" in it. The kernel ends the lock
   with the process, in whatever way that ends. HC_IO, with a line that names the folder, and the
   process that holds the lock, if one does. */
enum hc_status hc_folder_lock(const char *folder, int *lock);

/* Ends the lock; -1 is none. The file stays. */
void hc_folder_unlock(int lock);

#endif
