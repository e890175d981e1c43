// All of libdeflate that decompressing needs, as one file; see libdeflate/COPYING.
#include "lib/utils.c"
#include "lib/deflate_decompress.c"
#if defined(__i386__) || defined(__x86_64__)
#include "lib/x86/cpu_features.c"
#endif

const size_t gavel_decompressor_bytes = sizeof(struct libdeflate_decompressor);
