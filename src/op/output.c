/* Where text goes, whole or not at all: files (output.h), and memory (memory_stream.h). */
#define _GNU_SOURCE /* fopencookie */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "op/memory_stream.h"
#include "op/output.h"

/* How often to try again, and after what time, while another process writes the same file. */
enum { TRIES = 500, TRY_NANOSECONDS = 10000000 };

static enum hc_status cannot(const char *path)
{
    return hc_fail(HC_IO, "cannot write %s: %s", path, strerror(errno));
}

/* Whether nothing may take the place of the path. A name under /dev or /proc may lead to an open
   file, and so is special even if that file is a regular one. */
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

/* What the name PATH.part leads to, compared with the file that was opened by it and is now locked.
   ANOTHER: nothing, or another file; the one who held the lock has committed the file meanwhile.
   OURS: this file, which has no other name. SHARED: this file, which has another name, too, and so
   belongs to somebody. */
enum owner { ANOTHER, OURS, SHARED };

static enum owner owner_of(int file, const char *part)
{
    struct stat is;
    struct stat named;
    if (fstat(file, &is) != 0 || lstat(part, &named) != 0 || is.st_dev != named.st_dev ||
        is.st_ino != named.st_ino)
        return ANOTHER;
    return S_ISREG(is.st_mode) && is.st_nlink == 1 ? OURS : SHARED;
}

/* Where files cannot be locked (ENOLCK on a file system of the network), the part that was just
   made is removed again. One that holds something may be another's. */
static bool is_left_behind(int file, const char *part, int error)
{
    struct stat is;
    return error != EWOULDBLOCK && owner_of(file, part) == OURS && fstat(file, &is) == 0 &&
           is.st_size == 0;
}

/* Tries once to open the part and to lock it. -1 with errno, which is EAGAIN if it is worth another
   try. */
static int try_part(const char *part)
{
    int file = open(part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0 && (errno == ELOOP || errno == ENXIO)) /* a link or a pipe is not ours */
        errno = unlink(part) == 0 ? EAGAIN : errno;
    if (file < 0)
        return -1;
    bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
    int error = locked ? EAGAIN : errno;
    enum owner owner = locked ? owner_of(file, part) : ANOTHER;
    if (owner == OURS && ftruncate(file, 0) == 0)
        return file;
    error = owner == OURS ? errno : error;
    bool remove =
        owner == OURS || owner == SHARED || (!locked && is_left_behind(file, part, error));
    if (remove && unlink(part) != 0)
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
    return errno == EAGAIN ? hc_fail(HC_IO, "cannot write %s: another process is writing it", path)
                           : cannot(path);
}

bool hc_output_append(struct hc_output *output, const void *data, size_t bytes)
{
    return write_all(output->file, data, bytes);
}

/* Writes the folder to the disk, so that the rename itself lasts. */
static bool sync_folder_of(const char *path)
{
    char folder[HC_MAX_PATH];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
                   slash ? path : ".");
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return errno == EACCES; /* a folder that may be written to but not read */
    bool good = fsync(handle) == 0 || errno == EINVAL;
    (void)close(handle);
    return good;
}

static bool sync_file(int file)
{
    return fsync(file) == 0 || errno == EINVAL || errno == EROFS; /* pipes and devices cannot */
}

void hc_output_discard(struct hc_output *output)
{
    int error = errno;
    if (output->part[0])
        (void)unlink(output->part);
    errno = error;
}

enum hc_status hc_output_commit(struct hc_output *output)
{
    bool good = sync_file(output->file);
    if (good && output->part[0])
        good = rename(output->part, output->path) == 0 && sync_folder_of(output->path);
    if (good)
        return HC_OK;
    hc_output_discard(output);
    return cannot(output->path);
}

enum hc_status hc_output_close(struct hc_output *output, bool good)
{
    enum hc_status status = good ? HC_OK : cannot(output->path);
    if (good)
        status = hc_output_commit(output);
    else
        hc_output_discard(output);
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
    hc_output_discard(&output);
    (void)close(output.file);
    return HC_OK;
}

/* Finds the folder of a file, and its name in it. False if there is no such folder. */
static bool folder_of(const char *path, struct stat *folder, const char **name)
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
    return folder_of(one, &a, &name) && folder_of(other, &b, &another) &&
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
    return status == HC_OK ? hc_output_close(&output, hc_output_append(&output, data, bytes))
                           : status;
}

enum hc_status hc_output_print(const char *path, void (*print)(FILE *out, const void *context),
                               const void *context)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = hc_memory_stream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    print(out, context);
    bool whole = fclose(out) == 0 && !hc_memory_lost();
    enum hc_status status = whole ? hc_output_write(path, text, length)
                                  : hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    free(text);
    return status;
}

enum hc_status hc_output_folder(char path[HC_MAX_TEMPORARY], const char *name)
{
    const char *temporary = getenv("TMPDIR");
    int length = snprintf(path, HC_MAX_TEMPORARY, "%s/%s-XXXXXX",
                          temporary && *temporary ? temporary : "/tmp", name);
    if (length < HC_MAX_TEMPORARY && mkdtemp(path))
        return HC_OK;
    return hc_fail(HC_IO, "cannot make a temporary folder: %s",
                   strerror(length < HC_MAX_TEMPORARY ? errno : ENAMETOOLONG));
}

void hc_output_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder))
        (void)unlinkat(dirfd(folder), e->d_name, 0); /* "." and ".." are refused as folders */
    if (folder)
        (void)closedir(folder);
    (void)rmdir(path);
}

int hc_output_reopen(const char *path)
{
    int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 && errno == ELOOP)
        (void)hc_fail(HC_IO, "%s is a symbolic link; the file it leads to is not written", path);
    else if (file < 0)
        (void)hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    return file;
}

static atomic_bool any_lost;

struct memory {
    char **text;
    size_t *length;
    size_t room;
    bool lost;
};

static bool grow(struct memory *m, size_t wanted)
{
    size_t room = 2 * m->room > wanted ? 2 * m->room : wanted;
    char *text = m->lost ? NULL : realloc(*m->text, room);
    m->lost = !text;
    if (!text) {
        hc_memory_lost_one();
        errno = ENOMEM;
        return false;
    }
    *m->text = text;
    m->room = room;
    return true;
}

static ssize_t append(void *cookie, const char *bytes, size_t count)
{
    struct memory *m = cookie;
    if (*m->length + count + 1 > m->room && !grow(m, *m->length + count + 1))
        return 0;
    memcpy(*m->text + *m->length, bytes, count);
    *m->length += count;
    (*m->text)[*m->length] = '\0';
    return (ssize_t)count;
}

static int end(void *cookie)
{
    struct memory *m = cookie;
    bool lost = m->lost;
    if (lost) {
        free(*m->text);
        *m->text = NULL;
        *m->length = 0;
    }
    free(m);
    return lost ? -1 : 0;
}

FILE *hc_memory_stream(char **text, size_t *length)
{
    const cookie_io_functions_t functions = {.write = append, .close = end};
    struct memory *m = malloc(sizeof *m);
    *text = calloc(1, 1);
    *length = 0;
    FILE *stream = m && *text ? fopencookie(m, "w", functions) : NULL;
    if (stream) {
        *m = (struct memory){.text = text, .length = length, .room = 1};
        return stream;
    }
    free(m);
    free(*text);
    *text = NULL;
    hc_memory_lost_one();
    return NULL;
}

bool hc_memory_lost(void)
{
    return any_lost;
}

void hc_memory_lost_one(void)
{
    any_lost = true;
}
