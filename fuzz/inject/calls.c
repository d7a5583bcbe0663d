/* System calls. libc's stdio makes them where no other function can take its place, so a filter of
   the kernel (seccomp) traps those that come from libc's text. The handler of the trap then decides:
   it makes the call from here, or says that it failed. Programs that are started later have their
   libc elsewhere, and are spared. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "inject.h"

#if !defined(__x86_64__)
#error "the registers of a system call are known for x86-64 only"
#endif

static const struct {
    long number;
    enum inject_class kind;
    int error;
    const char *name;
} calls[] = {
    {SYS_write, INJECT_WRITE, ENOSPC, "write"},
    {SYS_pwrite64, INJECT_WRITE, ENOSPC, "pwrite"},
    {SYS_writev, INJECT_WRITE, ENOSPC, "writev"},
    {SYS_ftruncate, INJECT_WRITE, ENOSPC, "ftruncate"},
    {SYS_fallocate, INJECT_WRITE, ENOSPC, "fallocate"},
    {SYS_fsync, INJECT_WRITE, EIO, "fsync"},
    {SYS_fdatasync, INJECT_WRITE, EIO, "fdatasync"},
    {SYS_rename, INJECT_WRITE, EACCES, "rename"},
    {SYS_renameat, INJECT_WRITE, EACCES, "renameat"},
    {SYS_renameat2, INJECT_WRITE, EACCES, "renameat2"},
    {SYS_mkdir, INJECT_WRITE, ENOSPC, "mkdir"},
    {SYS_mkdirat, INJECT_WRITE, ENOSPC, "mkdirat"},
    {SYS_unlink, INJECT_WRITE, EACCES, "unlink"},
    {SYS_flock, INJECT_WRITE, ENOLCK, "flock"},
    {SYS_openat, INJECT_READ, EMFILE, "openat"},
    {SYS_open, INJECT_READ, EMFILE, "open"},
    {SYS_read, INJECT_READ, EIO, "read"},
    {SYS_pread64, INJECT_READ, EIO, "pread"},
    {SYS_lseek, INJECT_READ, EIO, "lseek"},
    {SYS_newfstatat, INJECT_READ, EIO, "fstatat"},
    {SYS_getdents64, INJECT_READ, EIO, "getdents"},
    {SYS_mmap, INJECT_MAP, ENOMEM, "mmap"},
    {SYS_mprotect, INJECT_MAP, ENOMEM, "mprotect"},
    {SYS_brk, INJECT_MAP, 0, "brk"},
    {SYS_pipe2, INJECT_MAP, EMFILE, "pipe2"},
    {SYS_socketpair, INJECT_MAP, EMFILE, "socketpair"},
    {SYS_dup2, INJECT_MAP, EBADF, "dup2"},
    {SYS_fcntl, INJECT_MAP, EMFILE, "fcntl"},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

long inject_raw(long number, const long *a)
{
    long result;
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static enum inject_class class_of(int call, const long *a)
{
    bool opens = calls[call].number == SYS_openat || calls[call].number == SYS_open;
    long flags = calls[call].number == SYS_openat ? a[2] : a[1];
    if (opens && (flags & (O_WRONLY | O_RDWR | O_CREAT)))
        return INJECT_WRITE;
    return calls[call].kind;
}

static bool is_spared(long number, const long *a)
{
    return (number == SYS_write || number == SYS_writev) && a[0] == STDERR_FILENO;
}

static long answer(long number, long *a)
{
    bool moves = number == SYS_write || number == SYS_read;
    for (int c = 0; c < CALLS; c++)
        if (calls[c].number == number && !is_spared(number, a) &&
            inject_now(class_of(c, a), calls[c].name))
            return number == SYS_brk ? inject_raw(SYS_brk, (const long[6]){0}) : -calls[c].error;
    if (moves && inject_short() && a[2] > 1)
        a[2] = 1;
    return inject_raw(number, a);
}

/* Makes the call that changes the mask of signals, but for SIGSYS: a trap that is blocked kills, and
   libc 2.41 blocks all signals while it maps memory for random numbers. */
static long change_mask(ucontext_t *context, const long *a)
{
    uint64_t was;
    uint64_t set = 0;
    memcpy(&was, &context->uc_sigmask, sizeof was);
    if (a[1])
        memcpy(&set, (const void *)a[1], sizeof set);
    if (a[2])
        memcpy((void *)a[2], &was, sizeof was);
    if (!a[1])
        return 0;
    if (a[0] != SIG_BLOCK && a[0] != SIG_UNBLOCK && a[0] != SIG_SETMASK)
        return -EINVAL;
    uint64_t mask = a[0] == SIG_BLOCK ? was | set : a[0] == SIG_UNBLOCK ? was & ~set : set;
    mask &= ~(UINT64_C(1) << (SIGSYS - 1));
    memcpy(&context->uc_sigmask, &mask, sizeof mask);
    return 0;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    long a[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
    (void)signal;
    r[REG_RAX] = info->si_syscall == SYS_rt_sigprocmask ? change_mask(context, a)
                                                        : answer(info->si_syscall, a);
}

/* The text of the library that has the function write. */
struct text {
    uintptr_t inside;
    uintptr_t from;
    uintptr_t to;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
    struct text *text = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || text->inside < from || text->inside >= from + h->p_memsz)
            continue;
        text->from = from;
        text->to = from + h->p_memsz;
    }
    return text->from != 0;
}

void inject_filter(void)
{
    struct text text = {.inside = (uintptr_t)write};
    if (!dl_iterate_phdr(find_text, &text) || text.from >> 32 != text.to >> 32)
        abort();
    enum { HEAD = 8, TRAPS = CALLS + 1 };
    struct sock_filter filter[HEAD + TRAPS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, TRAPS + 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(text.from >> 32), 0, TRAPS + 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)text.from, 0, TRAPS + 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)text.to, TRAPS + 1, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (int c = 0; c < TRAPS; c++) {
        uint32_t number = (uint32_t)(c < CALLS ? calls[c].number : SYS_rt_sigprocmask);
        filter[HEAD + c] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number,
                                                        (uint8_t)(TRAPS - c), 0);
    }
    filter[HEAD + TRAPS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[HEAD + TRAPS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const struct sock_fprog program = {HEAD + TRAPS + 2, filter};
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        abort();
}
