// The fake object, with something that no process gives to kernels.
#include "fake_object.c"

#if defined(FOREIGN_function)
extern int system(const char *);
__attribute__((used)) static int call(void) { return system("exit 0"); }
#elif defined(FOREIGN_weak)
__attribute__((weak)) extern int system(const char *);
__attribute__((used)) static int call(void)
{
    return system ? system("exit 0") : 0;
}
#elif defined(FOREIGN_variable)
extern char **environ;
__attribute__((used)) static char **steal(void) { return environ; }
#elif defined(FOREIGN_constructor)
__attribute__((constructor)) static void run(void) { __builtin_trap(); }
#elif defined(FOREIGN_destructor)
__attribute__((destructor)) static void run(void) { __builtin_trap(); }
#elif defined(FOREIGN_init)
void _init(void);
void _init(void) { __builtin_trap(); }
#elif defined(FOREIGN_resolver)
static int plain(void) { return 1; }
typedef int plain_fn(void);
static plain_fn *choose(void) { __builtin_trap(); return plain; }
__attribute__((ifunc("choose"))) int chosen(void);
__attribute__((used)) static int call(void) { return chosen(); }
#endif
