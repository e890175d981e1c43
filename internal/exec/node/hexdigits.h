#include <stddef.h>

/* gavel_hex_digits writes the hexadecimal digits of so many bytes, twice as many, in lower case. */
void gavel_hex_digits(unsigned char *restrict to, const unsigned char *restrict from, size_t bytes);
