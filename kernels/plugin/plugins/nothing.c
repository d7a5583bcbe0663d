typedef int nothing_here; /* a shared object that is no plug-in, for kernels/plugin/plugin_test.c */
