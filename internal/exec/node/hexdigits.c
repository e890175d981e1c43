#include "hexdigits.h"

/* Both digits of each byte are calculated without a branch or a table, so that the compiler makes vector instructions of it, on any processor. */
void gavel_hex_digits(unsigned char *restrict to, const unsigned char *restrict from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char high = from[i] >> 4, low = from[i] & 15;
        to[2 * i] = high + '0' + (high > 9 ? 'a' - '0' - 10 : 0);
        to[2 * i + 1] = low + '0' + (low > 9 ? 'a' - '0' - 10 : 0);
    }
}
