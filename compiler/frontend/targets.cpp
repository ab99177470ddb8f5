// The linker asks for every target that its LLVM knows, for optimisation at
// link time, which kernels do not need: those that are not linked do nothing.
#define LLVM_TARGET(name)                                                      \
    extern "C" [[gnu::weak]] void LLVMInitialize##name##TargetInfo() {}        \
    extern "C" [[gnu::weak]] void LLVMInitialize##name##Target() {}            \
    extern "C" [[gnu::weak]] void LLVMInitialize##name##TargetMC() {}          \
    extern "C" [[gnu::weak]] void LLVMInitialize##name##AsmPrinter() {}        \
    extern "C" [[gnu::weak]] void LLVMInitialize##name##AsmParser() {}
#include <llvm/Config/Targets.def>
