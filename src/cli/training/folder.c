#include "cli/training/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum hc_status hc_make_folder(const char *path)
{
    char part[1024];
    size_t length = strlen(path);
    if (length >= sizeof part)
        return hc_fail(HC_INVALID, "the name of the output folder is too long");
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return hc_fail(HC_IO, "cannot make the folder %s: %s", part, strerror(errno));
    }
    return HC_OK;
}

/* The holder of a lock writes its process number into the file, for this line. */
static enum hc_status refuse_folder(const char *folder, int lock)
{
    char process[24] = "";
    ssize_t length = pread(lock, process, sizeof process - 1, 0);
    process[length > 0 ? length : 0] = '\0';
    process[strspn(process, "0123456789")] = '\0';
    return hc_fail(HC_IO, "%s: another halfcheck%s%s writes there; use --out for another folder",
                   folder, process[0] ? ", process " : "", process);
}

enum hc_status hc_folder_lock(const char *folder, int *lock)
{
    char path[1100];
    char process[24];
    *lock = -1;
    enum hc_status status = hc_make_folder(folder);
    if (status != HC_OK)
        return status;
    (void)snprintf(path, sizeof path, "%s/.lock", folder);
    int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0)
        return hc_fail(HC_IO, "cannot write into %s: %s: %s", folder, path, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        status = errno == EWOULDBLOCK ? refuse_folder(folder, file)
                                      : hc_fail(HC_IO, "cannot lock %s: %s", path, strerror(errno));
        (void)close(file);
        return status;
    }
    int length = snprintf(process, sizeof process, "%ld\n", (long)getpid());
    struct stat facts;
    if (fstat(file, &facts) == 0 && facts.st_nlink == 1 && ftruncate(file, 0) == 0)
        (void)!pwrite(file, process, (size_t)length, 0); /* the lock holds without it, too */
    *lock = file;
    return HC_OK;
}

void hc_folder_unlock(int lock)
{
    if (lock >= 0)
        (void)close(lock);
}
