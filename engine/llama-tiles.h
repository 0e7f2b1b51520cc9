/* Corrects an intrinsic for Intel's AMX. Until 11.5, 12.4 and 13.3, GCC's own says that `ldtilecfg` reads 8 bytes (GCC
   bug 114098), so the compiler drops the other 56 of the configuration, and the first product in tiles crashes. */
#ifdef __AMX_TILE__
#include <immintrin.h>
#define _tile_loadconfig(config) __asm__ volatile("ldtilecfg %0" : : "m"(*(const char(*)[64])(config)))
#endif
