/* Loading a shared object that holds a plug-in, and checking what it says of its backends. */
#ifndef HC_KERNELS_PLUGIN_LOAD_H
#define HC_KERNELS_PLUGIN_LOAD_H

#include "backend.h"

/* How many backends a plug-in may have. */
#define HC_MAX_PLUGIN 8

/* Where a plug-in of halfcheck's own lies: in the program's folder, as it is built; or in
   ../lib/halfcheck, as it is installed. An empty text if the folder is unknown. */
void hc_plugin_by_program(char *path, size_t size, const char *file);

/* HC_OK; or HC_IO or HC_INVALID, with a line, if there is no such file or it is cut short. The
   loader maps such a file without an error, and what touches the rest dies. */
enum hc_status hc_plugin_is_readable(const char *path);

/* Loads the shared object `path`, which stays loaded, and returns its handle for hc_plugin_symbol.
   NULL, with the reason in hc_message(), if there is no such file, if it is cut short, or if the
   loader refuses it. */
void *hc_plugin_load(const char *path);

/* What the shared object exports by that name, or NULL. */
const void *hc_plugin_symbol(void *library, const char *name);

/* The backends of a loaded shared object, which must have a backend `name` if that is not NULL.
   NULL, with the reason in hc_message(), if it has none, if they are of another version, or if a
   backend's table is wrong or has the name of another one. */
const struct hc_plugin *hc_plugin_backends(void *library, const char *path, const char *name);

/* Where the file's own name begins in a path. */
const char *hc_plugin_file(const char *path);

/* The backend of that name among n backends; NULL if there is none. */
const struct hc_backend *hc_backend_among(const struct hc_backend *const *backends, int n,
                                          const char *name);

#endif
