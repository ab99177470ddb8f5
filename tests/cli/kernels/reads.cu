#include "/etc/passwd"
extern "C" __global__ void k(int *o) { o[0] = 1; }
