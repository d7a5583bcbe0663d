#include "check/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hc_status cannot(const char *path)
{
    return hc_fail(HC_IO, "cannot write %s: %s", path, strerror(errno));
}

static bool is_special(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

/* The name of the file that becomes `path` when it is whole; for the caller to free. */
static char *beside(const char *path)
{
    size_t size = strlen(path) + 32;
    char *name = malloc(size);
    if (name)
        (void)snprintf(name, size, "%s.%ld.part", path, (long)getpid());
    return name;
}

static bool write_all(int file, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t n = write(file, from, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Writes to a file that is opened with `flags`; a regular one is on the disk afterwards. */
static enum hc_status put(const char *path, const char *shown, int flags, const void *data,
                          size_t bytes)
{
    int file = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    if (file < 0)
        return cannot(shown);
    bool written = write_all(file, data, bytes);
    if (written && fsync(file) != 0)
        written = errno == EINVAL || errno == EROFS; /* pipes and devices cannot */
    int saved = errno;
    bool closed = close(file) == 0;
    if (!written)
        errno = saved;
    return written && closed ? HC_OK : cannot(shown);
}

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

enum hc_status hc_output_probe(const char *path)
{
    if (is_stdout(path))
        return HC_OK;
    if (is_special(path))
        return access(path, W_OK) == 0 ? put(path, path, 0, "", 0) : cannot(path);
    char *part = beside(path);
    if (!part)
        return hc_fail(HC_NO_MEMORY, "no memory");
    enum hc_status status = put(part, path, O_CREAT | O_TRUNC, "", 0);
    (void)unlink(part);
    free(part);
    return status;
}

enum hc_status hc_output_write(const char *path, const void *data, size_t bytes)
{
    if (is_stdout(path))
        return fflush(stdout) == 0 && write_all(STDOUT_FILENO, data, bytes)
                   ? HC_OK
                   : cannot("standard output");
    if (is_special(path))
        return put(path, path, 0, data, bytes);
    char *part = beside(path);
    if (!part)
        return hc_fail(HC_NO_MEMORY, "no memory");
    enum hc_status status = put(part, path, O_CREAT | O_TRUNC, data, bytes);
    if (status == HC_OK && rename(part, path) != 0)
        status = cannot(path);
    if (status != HC_OK)
        (void)unlink(part);
    free(part);
    return status;
}
