#define _FILE_OFFSET_BITS 64
#include "kernels/plugin/elf.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Whether n entries of `size` bytes from `at` on end within a file of `file` bytes. */
static bool fits(uint64_t file, uint64_t at, uint64_t n, uint64_t size)
{
    return at <= file && (n == 0 || (file - at) / n >= size);
}

static bool read_at(FILE *file, uint64_t at, void *to, size_t bytes)
{
    return at <= INT64_MAX && fseeko(file, (off_t)at, SEEK_SET) == 0 &&
           fread(to, 1, bytes, file) == bytes;
}

static bool is_whole(FILE *file, uint64_t size, const Elf64_Ehdr *header)
{
    if (header->e_phentsize != sizeof(Elf64_Phdr) ||
        !fits(size, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr)) ||
        !fits(size, header->e_shoff, header->e_shnum, header->e_shentsize))
        return false;
    for (int i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_at(file, header->e_phoff + (uint64_t)i * sizeof segment, &segment,
                     sizeof segment) ||
            !fits(size, segment.p_offset, segment.p_filesz, 1))
            return false;
    }
    return true;
}

bool hc_elf_is_truncated(const char *path)
{
    Elf64_Ehdr header;
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool truncated = false;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
        read_at(file, 0, header.e_ident, EI_NIDENT) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64)
        truncated = !read_at(file, 0, &header, sizeof header) ||
                    !is_whole(file, (uint64_t)status.st_size, &header);
    (void)fclose(file);
    return truncated;
}
