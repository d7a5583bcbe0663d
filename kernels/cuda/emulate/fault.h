/* For tests: a defect in what one kernel gets from the emulation, so that it can be seen that such a
   defect in its text would be found. */
#ifndef HC_KERNELS_CUDA_EMULATE_FAULT_H
#define HC_KERNELS_CUDA_EMULATE_FAULT_H

enum hc_emulated_fault_kind {
    HC_SOUND,
    HC_NO_BARRIER,    /* one of the hc_sync of its source is not there */
    HC_WRONG_SHUFFLE, /* steps of 1 are steps of 2 */
    HC_WRONG_THREAD,  /* hc_thread is one more */
    HC_WRONG_BLOCK,   /* hc_block is one more */
    HC_WRONG_BLOCKS,  /* hc_blocks is one more */
};

struct hc_emulated_fault {
    enum hc_emulated_fault_kind kind;
    const char *kernel;
    int site; /* which hc_sync, in the order in which the kernel comes to them first */
};

/* Sound until it is set; sites are counted anew after each setting. One thread. */
void hc_emulated_fault_set(const struct hc_emulated_fault *fault);

/* How many hc_sync of the source the planted kernel has come to. */
int hc_emulated_fault_sites(void);

#endif
