/* For tests: a fault in what one kernel gets from the emulation. The tests see that the checks find
   it, as they would find the same fault in the kernel's text. */
#ifndef HC_KERNELS_CUDA_EMULATE_FAULT_H
#define HC_KERNELS_CUDA_EMULATE_FAULT_H

enum hc_emulated_fault_kind {
    HC_SOUND,
    HC_NO_BARRIER,    /* one hc_sync of its source does nothing */
    HC_WRONG_SHUFFLE, /* a shuffle by 1 is one by 2 */
    HC_WRONG_THREAD,  /* hc_thread() is one too large */
    HC_WRONG_BLOCK,   /* hc_block() is one too large */
    HC_WRONG_BLOCKS,  /* hc_blocks() is one too large */

    /* Seen by a watcher alone. A site is an instruction that reads or writes memory. */
    HC_FAR_ACCESS,    /* one goes one element too far */
    HC_LOST_WRITE,    /* one does not write */
    HC_LOST_FENCE,    /* one hc_fence does nothing */
    HC_PLAIN_ATOMIC,  /* an atomic operation is a read and a write */
    HC_OFF_VECTOR,    /* vectors begin one element too far */
    HC_NO_SEPARATION, /* it does not wait for the launch before it */
};

struct hc_emulated_fault {
    enum hc_emulated_fault_kind kind;
    const char *kernel;
    int site; /* its number, in the order in which the kernel first reaches them */
};

/* There is no fault until one is set. Setting starts the count of sites anew. For one thread. */
void hc_emulated_fault_set(const struct hc_emulated_fault *fault);

/* How many hc_sync of its source the faulty kernel has reached; file and line of one of them. */
int hc_emulated_fault_sites(void);
const char *hc_emulated_fault_line(int site, int *line);

#endif
