// The symbols of hiprtc: SYMBOL(name, vendor's name, type, (parameters)). Every
// version since 4.2 has all of them. Functions of type int return a status, 0
// for success. libhiprtc has them, or libamdhip64 before 7.0.

SYMBOL(error_text, hiprtcGetErrorString, const char *, (int status))
SYMBOL(version, hiprtcVersion, int, (int *out_major, int *out_minor))
SYMBOL(create, hiprtcCreateProgram, int,
       (void **out_program, const char *source, const char *name, int count,
        const char *const *headers, const char *const *names))
SYMBOL(destroy, hiprtcDestroyProgram, int, (void **program))
SYMBOL(add_expression, hiprtcAddNameExpression, int,
       (void *program, const char *expression))
SYMBOL(compile, hiprtcCompileProgram, int,
       (void *program, int count, const char *const *options))
SYMBOL(log_size, hiprtcGetProgramLogSize, int,
       (void *program, size_t *out_size))
SYMBOL(log, hiprtcGetProgramLog, int, (void *program, char *log))
SYMBOL(code_size, hiprtcGetCodeSize, int, (void *program, size_t *out_size))
SYMBOL(code, hiprtcGetCode, int, (void *program, char *code))
SYMBOL(lowered_name, hiprtcGetLoweredName, int,
       (void *program, const char *expression, const char **out_name))
