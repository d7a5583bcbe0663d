#include "op/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often and how long to wait for another process that writes the same file. */
enum { TRIES = 500, TRY_NANOSECONDS = 10000000 };

static enum hc_status cannot(const char *path)
{
    return hc_fail(HC_IO, "cannot write %s: %s", path, strerror(errno));
}

/* What leads to an open file is one, too, whatever that file is: nothing may take its place. */
static bool is_special(const char *path)
{
    struct stat s;
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           (stat(path, &s) == 0 && !S_ISREG(s.st_mode));
}

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
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

/* What the name stands for, beside the open file: nothing or another file, where whoever held the
   lock before has placed his; the file alone; or a file with another name, too, which is
   somebody's. */
enum found { ANOTHER, OURS, SHARED };

static enum found look(int file, const char *part)
{
    struct stat is;
    struct stat named;
    if (fstat(file, &is) != 0 || lstat(part, &named) != 0 || is.st_dev != named.st_dev ||
        is.st_ino != named.st_ino)
        return ANOTHER;
    return S_ISREG(is.st_mode) && is.st_nlink == 1 ? OURS : SHARED;
}

/* One try to open the part and lock it; -1 with errno, EAGAIN for another try. */
static int try_part(const char *part)
{
    int file = open(part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0 && (errno == ELOOP || errno == ENXIO)) /* a link, a pipe: not ours */
        errno = unlink(part) == 0 ? EAGAIN : errno;
    if (file < 0)
        return -1;
    bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
    int error = locked ? EAGAIN : errno;
    enum found found = locked ? look(file, part) : ANOTHER;
    if (found == OURS && ftruncate(file, 0) == 0)
        return file;
    if (found == SHARED && unlink(part) != 0)
        error = errno;
    (void)close(file);
    errno = error;
    return -1;
}

static int open_part(const char *part)
{
    const struct timespec while_another_writes = {.tv_nsec = TRY_NANOSECONDS};
    int file = try_part(part);
    for (int i = 0; i < TRIES && file < 0 && errno == EAGAIN; i++) {
        (void)nanosleep(&while_another_writes, NULL);
        file = try_part(part);
    }
    return file;
}

enum hc_status hc_output_open(struct hc_output *output, const char *path)
{
    int length = snprintf(output->path, sizeof output->path, "%s", path);
    (void)snprintf(output->part, sizeof output->part, "%s.part", path);
    if (length < 0 || (size_t)length + sizeof ".part" > sizeof output->part)
        return hc_fail(HC_INVALID, "the name of a file is too long: %.100s...", path);
    if (is_special(path)) {
        output->part[0] = '\0';
        output->file = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        output->file = open_part(output->part);
    }
    if (output->file >= 0)
        return HC_OK;
    return errno == EAGAIN ? hc_fail(HC_IO, "cannot write %s: another process does", path)
                           : cannot(path);
}

bool hc_output_put(struct hc_output *output, const void *data, size_t bytes)
{
    return write_all(output->file, data, bytes);
}

/* Makes the rename itself last. */
static bool sync_folder_of(const char *path)
{
    char folder[HC_MAX_PATH];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
                   slash ? path : ".");
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return errno == EACCES; /* may be written to and not read */
    bool good = fsync(handle) == 0 || errno == EINVAL;
    (void)close(handle);
    return good;
}

static bool sync_file(int file)
{
    return fsync(file) == 0 || errno == EINVAL || errno == EROFS; /* pipes and devices cannot */
}

void hc_output_drop(struct hc_output *output)
{
    int error = errno;
    if (output->part[0])
        (void)unlink(output->part);
    errno = error;
}

enum hc_status hc_output_place(struct hc_output *output)
{
    bool placed = sync_file(output->file);
    if (placed && output->part[0])
        placed = rename(output->part, output->path) == 0 && sync_folder_of(output->path);
    if (placed)
        return HC_OK;
    hc_output_drop(output);
    return cannot(output->path);
}

enum hc_status hc_output_close(struct hc_output *output, bool good)
{
    enum hc_status status = good ? HC_OK : cannot(output->path);
    if (good)
        status = hc_output_place(output);
    else
        hc_output_drop(output);
    if (close(output->file) != 0 && status == HC_OK)
        status = cannot(output->path);
    return status;
}

enum hc_status hc_output_probe(const char *path)
{
    struct hc_output output;
    if (is_stdout(path))
        return HC_OK;
    enum hc_status status = hc_output_open(&output, path);
    if (status != HC_OK)
        return status;
    hc_output_drop(&output);
    (void)close(output.file);
    return HC_OK;
}

/* The folder of a file, and its name in there; false where there is no such folder. */
static bool place_of(const char *path, struct stat *folder, const char **name)
{
    char text[HC_MAX_PATH];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;
    *name = slash ? slash + 1 : path;
    (void)snprintf(text, sizeof text, "%.*s.", length, path);
    return stat(text, folder) == 0;
}

bool hc_output_same(const char *one, const char *other)
{
    struct stat a;
    struct stat b;
    const char *name;
    const char *another;
    return place_of(one, &a, &name) && place_of(other, &b, &another) &&
           strcmp(name, another) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
           !is_special(one);
}

enum hc_status hc_output_write(const char *path, const void *data, size_t bytes)
{
    struct hc_output output;
    if (is_stdout(path))
        return fflush(stdout) == 0 && write_all(STDOUT_FILENO, data, bytes)
                   ? HC_OK
                   : cannot("standard output");
    enum hc_status status = hc_output_open(&output, path);
    return status == HC_OK ? hc_output_close(&output, hc_output_put(&output, data, bytes)) : status;
}

enum hc_status hc_output_print(const char *path, void (*print)(FILE *out, const void *context),
                               const void *context)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    print(out, context);
    enum hc_status status = fclose(out) == 0 ? hc_output_write(path, text, length)
                                             : hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    free(text);
    return status;
}

int hc_output_reopen(const char *path)
{
    int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 && errno == ELOOP)
        (void)hc_fail(HC_IO, "%s: a symbolic link, and what it leads to is not to be written",
                      path);
    else if (file < 0)
        (void)hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    return file;
}
