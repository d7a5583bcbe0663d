/* Whether a shared object is all there. The loader maps a file that is cut short without a word,
   and the program dies of SIGBUS when it touches what is missing. */
#ifndef HC_KERNELS_ELF_H
#define HC_KERNELS_ELF_H

#include <stdbool.h>

/* Whether the file is a 64-bit ELF file that ends before its headers, segments or sections do.
   False of what is none, or cannot be read: the loader has words for these. */
bool hc_elf_is_truncated(const char *path);

#endif
