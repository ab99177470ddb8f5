// Whether the libraries believe the environment of who started a program that
// has more rights. The path is in RUNNEL_CUDA and RUNNEL_MPI.
#include <runnel/runnel.h>
#ifdef SECURE_COMM
#include <runnel/comm.h>
#endif

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static int judge(const char *reason)
{
    if (!strstr(reason, "/nowhere/chosen"))
        return 0;
    fprintf(stderr, "%s\n", reason);
    return 1;
}

#ifdef SECURE_COMM
// librunnel-comm takes the MPI that a program has: here one without functions.
int MPI_Init_thread(void);
int MPI_Init_thread(void)
{
    return 1;
}

static int judge_comm(void)
{
    rnl_comm comm;
    rnl_context context;
    if (rnl_context_open("cpu", 0, NULL, &context) != RNL_OK ||
        rnl_comm_create(context, NULL, &comm) != RNL_ERROR_UNSUPPORTED) {
        fprintf(stderr, "%s\n", rnl_last_error()->message);
        return 1;
    }
    rnl_context_release(context);
    return 0;
}
#else
static int judge_comm(void)
{
    return 0;
}
#endif

int main(void)
{
    const char *reason = "";
    size_t count = 0;
    if (!getauxval(AT_SECURE))
        return 77;
    rnl_device_count("cuda", &count);
    rnl_api_reason("cuda", &reason);
    return judge(reason) || judge_comm();
}
