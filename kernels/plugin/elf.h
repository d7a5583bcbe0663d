/* Whether a shared object is complete. The loader maps a truncated file without an error, and the
   program dies of SIGBUS when it touches what is missing. */
#ifndef HC_KERNELS_PLUGIN_ELF_H
#define HC_KERNELS_PLUGIN_ELF_H

#include <stdbool.h>

/* Whether the file is a 64-bit ELF file that ends before its headers, segments or sections do.
   False for a file that is no ELF file or cannot be read: the loader reports those. */
bool hc_elf_is_truncated(const char *path);

#endif
