/* Where NVIDIA's libraries may be on a machine. */
#ifndef HC_KERNELS_CUDA_LIBRARY_FIND_H
#define HC_KERNELS_CUDA_LIBRARY_FIND_H

/* The places in words, in the order in which they are looked through. */
extern const char hc_library_places[];

/* Loads the first library of this name ("libcudnn.so.9") that loads, from $CUDA_HOME, from where the
   loader looks, from the toolkit's usual folder, or from the Python packages that PyTorch installs:
   those of $VIRTUAL_ENV, $CONDA_PREFIX, of each python3 on $PATH, of the user and of the system. NULL:
   there is none. */
void *hc_library_open(const char *name);

#endif
