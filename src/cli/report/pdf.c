/* The browser is started without a shell, in a home of its own, so that nobody's settings or open
   windows have a part in it, and is given up after two minutes. The page cannot make it load
   anything: its policy forbids that. */
#include "cli/report/pdf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "op/output.h"

enum { NO_BROWSER = 127, SECONDS = 120, LONGEST = HC_MAX_PATH };

/* Names of Chromium and of browsers that are made of it. */
static const char *const browsers[] = {"chromium-headless-shell", "chromium", "chromium-browser",
                                       "google-chrome", "google-chrome-stable"};

/* Removes a folder and all that is in it. */
static void remove_folder(int parent, const char *name)
{
    const struct dirent *entry;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    while (entries && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(folder, entry->d_name, 0) != 0)
            remove_folder(folder, entry->d_name);
    if (entries)
        (void)closedir(entries);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void become_browser(const char *folder)
{
    char home[LONGEST];
    char data[LONGEST + 32];
    const char *root = geteuid() == 0 ? "--no-sandbox" : "--disable-gpu"; /* root has no sandbox */
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || chdir(folder) != 0 || !getcwd(home, sizeof home) ||
        setenv("HOME", home, 1) != 0)
        _exit(1);
    (void)snprintf(data, sizeof data, "--user-data-dir=%s", home);
    for (int stream = 0; stream <= STDERR_FILENO; stream++)
        (void)dup2(nowhere, stream);
    (void)alarm(SECONDS);
    for (size_t i = 0; i < sizeof browsers / sizeof browsers[0]; i++)
        (void)execlp(browsers[i], browsers[i], "--headless", "--disable-gpu", root,
                     "--disable-dev-shm-usage", "--no-first-run", "--no-pdf-header-footer", data,
                     "--print-to-pdf=page.pdf", "page.html", (char *)NULL);
    _exit(NO_BROWSER);
}

static enum hc_status print(const char *folder)
{
    int outcome = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_browser(folder);
    if (child < 0)
        return hc_fail(HC_IO, "cannot start a browser: %s", strerror(errno));
    while (waitpid(child, &outcome, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == NO_BROWSER)
        return hc_fail(HC_UNSUPPORTED,
                       "a PDF is printed by a browser, and there is neither Chromium nor Chrome");
    if (!WIFEXITED(outcome) || WEXITSTATUS(outcome) != 0)
        return hc_fail(HC_IO, "the browser could not print the page");
    return HC_OK;
}

/* Copies the file that the browser has written. */
static enum hc_status take(const char *from, const char *path)
{
    char *text = NULL;
    long size = -1;
    FILE *file = fopen(from, "rb");
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0)
        text = malloc((size_t)size);
    bool whole = text && fseek(file, 0, SEEK_SET) == 0 &&
                 fread(text, 1, (size_t)size, file) == (size_t)size && size > 4 &&
                 memcmp(text, "%PDF", 4) == 0;
    enum hc_status status = whole ? hc_output_write(path, text, (size_t)size)
                                  : hc_fail(HC_IO, "the browser could not print the page");
    if (file)
        (void)fclose(file);
    free(text);
    return status;
}

enum hc_status hc_pdf_write(const char *path, const char *text, size_t bytes, const char *folder)
{
    char scratch[LONGEST];
    char page[LONGEST + 16];
    if (snprintf(scratch, sizeof scratch, "%s/.printing-XXXXXX", folder) >= (int)sizeof scratch ||
        !mkdtemp(scratch))
        return hc_fail(HC_IO, "cannot print in %s: %s", folder, strerror(errno));
    (void)snprintf(page, sizeof page, "%s/page.html", scratch);
    enum hc_status status = hc_output_write(page, text, bytes);
    if (status == HC_OK)
        status = print(scratch);
    (void)snprintf(page, sizeof page, "%s/page.pdf", scratch);
    if (status == HC_OK)
        status = take(page, path);
    remove_folder(AT_FDCWD, scratch);
    return status;
}
