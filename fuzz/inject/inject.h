/* A library for LD_PRELOAD that lets a program's Nth request to the system fail. HC_INJECT says
   which requests are counted and which one fails:

     memory:N   malloc, calloc, realloc and the aligned ones return NULL
     write:N    a system call that changes files or writes to them fails (stderr is spared)
     read:N     a system call that opens files to read, reads them or looks at them fails
     map:N      mmap, pipe, and what else takes from the system's own tables, fails
     short:0    no call fails, but every write and read moves one byte only
     alarm:N    no call fails, but SIGALRM interrupts every N microseconds, without SA_RESTART

   With a + behind N, all later ones fail, too. HC_INJECT_LOG is a file that gets the line "CALL N"
   when the failure is delivered, or "unmet COUNT" at the end. Allocations by libgomp, oneDNN and
   libstdc++ succeed, because these libraries end the program (docs/robustness.md). Threads and forked children count together. Programs that are started by
   execve are spared. Requests are counted from the end of the libraries' constructors on. */
#ifndef HC_FUZZ_INJECT_H
#define HC_FUZZ_INJECT_H

#include <stdbool.h>

enum inject_class { INJECT_MEMORY, INJECT_WRITE, INJECT_READ, INJECT_MAP, INJECT_CLASSES };

/* Whether this request fails; `what` goes to the log. Calls nothing of libc. */
bool inject_now(enum inject_class kind, const char *what);

/* Whether the code at this address belongs to a library whose allocations succeed. */
bool inject_spares(const void *code);
void inject_find_spared(void);

/* Whether writes and reads are short. */
bool inject_short(void);

/* A system call without libc, which the filter below lets pass. */
long inject_raw(long number, const long *argument);

/* Brings libc's system calls of the classes before inject_now. */
void inject_filter(void);

#endif
