// A program of somebody else with communicators.
#include <runnel/comm.h>

int main(void)
{
    rnl_comm_info info = {.struct_size = sizeof info};
    return rnl_comm_get_info(NULL, &info) == RNL_ERROR_INVALID_HANDLE ? 0 : 1;
}
