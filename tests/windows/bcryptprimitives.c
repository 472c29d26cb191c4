/* Debian 12's wine has no bcryptprimitives.dll, which every Rust program of Windows asks for random numbers: this one
   passes the question on to a library that wine has. For tests alone; Windows has its own. */

#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *buffer, unsigned long bytes);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, size_t bytes) {
  return SystemFunction036(buffer, (unsigned long)bytes);
}
