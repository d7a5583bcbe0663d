/* Finds NVIDIA's libraries on a machine. */
#ifndef HC_KERNELS_CUDA_LIBRARY_FIND_H
#define HC_KERNELS_CUDA_LIBRARY_FIND_H

/* The places in words, for messages, in the order in which they are searched. */
extern const char hc_library_places[];

/* Loads the first library of this name ("libcudnn.so.9") that loads. The places are $CUDA_HOME,
   those of the loader, the toolkit's usual folder, and the Python packages that PyTorch installs:
   those of $VIRTUAL_ENV and $CONDA_PREFIX, of each python3 on $PATH, of the user and of the system.
   NULL if there is none. */
void *hc_library_open(const char *name);

/* Loads the libraries of this pattern (glob(3)) that load from the folder of a loaded one. Those
   that a library loads by name are then found, and are of its version. */
void hc_library_open_beside(void *library, const char *pattern);

#endif
