// A program may have functions of its own by the names that the library has
// inside.
int fail(void);
int clock_now(void);
int mem_allocate(void);

int fail(void)
{
    return clock_now();
}

int clock_now(void)
{
    return mem_allocate();
}

int mem_allocate(void)
{
    return 0;
}
