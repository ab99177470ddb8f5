// Which memory an address is in, and addresses of one kind of memory.

extern "C" {
extern __shared__ char rnl_dynamic[];  // shared memory after the static part
extern const __device__ rnl_cpu_object rnl_object __asm__(RNL_CPU_OBJECT_SYMBOL)
    __attribute__((visibility("default"))) RNL_FOUND;
}

// A value that is known only after linking must not be folded before.
RNL_INLINE const rnl_cpu_object *rnl_linked()
{
    const rnl_cpu_object *object = &rnl_object;
    __asm__("" : "+r"(object));
    return object;
}

RNL_INLINE unsigned long rnl_block_memory()
{
    return reinterpret_cast<unsigned long>(rnl_dynamic) -
           rnl_linked()->dynamic_offset;
}

// Called, so that the block is known where vectors are made.
extern "C" {
static unsigned long rnl_dynamic_size() RNL_NAMED(rnl_dynamic_size);
static __attribute__((noinline, unused, pure)) unsigned long rnl_dynamic_size()
{
    const rnl_cpu_block *run = rnl_state.run;
    return run->struct_size < sizeof *run ? RNL_CPU_DYNAMIC_LIMIT
                                          : run->dynamic_size;
}
}

RNL_INLINE unsigned int __isShared(const void *address)
{
    return reinterpret_cast<unsigned long>(address) - rnl_block_memory() <
           rnl_linked()->dynamic_offset + rnl_dynamic_size();
}

RNL_INLINE unsigned int __isConstant(const void *address)
{
    const rnl_cpu_object *object = rnl_linked();
    unsigned int found = 0;
    for (unsigned int i = 0; i < object->global_count; i++)
        found |= (object->globals[i].flags & RNL_CPU_GLOBAL_CONSTANT) != 0 &
                 (reinterpret_cast<unsigned long>(address) -
                      reinterpret_cast<unsigned long>(
                          object->globals[i].address) <
                  object->globals[i].size);
    return found;
}

// A thread's own variables count as global: others may use them, too.
RNL_INLINE unsigned int __isGlobal(const void *address)
{
    return !__isShared(address) & !__isConstant(address);
}

RNL_INLINE size_t __cvta_generic_to_shared(const void *address)
{
    return reinterpret_cast<unsigned long>(address) - rnl_block_memory();
}
RNL_INLINE void *__cvta_shared_to_generic(size_t address)
{
    return reinterpret_cast<void *>(rnl_block_memory() + address);
}
#define RNL_CVTA(space)                                                     \
    RNL_INLINE size_t __cvta_generic_to_##space(const void *address)        \
    {                                                                       \
        return reinterpret_cast<size_t>(address);                           \
    }                                                                       \
    RNL_INLINE void *__cvta_##space##_to_generic(size_t address)            \
    {                                                                       \
        return reinterpret_cast<void *>(address);                           \
    }
RNL_CVTA(global)
RNL_CVTA(local)
RNL_CVTA(constant)
#undef RNL_CVTA
