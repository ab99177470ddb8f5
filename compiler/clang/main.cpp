// runnel-clang: clang and the SIMT compiler in one program that is linked
// statically. It starts in a tenth of the time that clang takes, of which most
// is relocations of LLVM's shared libraries, and hands a kernel from the one to
// the other in memory.
//
// runnel-clang [--object FILE --target NAME [--dump PREFIX] [--assembly FILE]
//               [--block-size XxYxZ] [--only NUMBER]] -- CLANG ARGUMENT...
//
// Without --object it does what that clang would do, with it the SIMT
// compiler's job, whose callbacks become the lines that simt.c reads, and, with
// lld in it, the linker's. Whatever is out of the ordinary is left to the clang
// that is installed.
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#ifdef RUNNEL_LLD
#include <lld/Common/Driver.h>
#endif
#include <llvm-c/Core.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/TargetParser/Host.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "../simt/simt.h"
}

using arguments = std::vector<const char *>;

// Debian's LLVM mentions Polly, which nobody needs here.
llvm::PassPluginLibraryInfo getPollyPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "", "", [](llvm::PassBuilder &) {}};
}

// A file that is not in memory yet is read into large pages, a fault for each
// 2 MB of code instead of 64 KB: asked for before anything else runs.
extern "C" const char __executable_start[], etext[];

static void ask_for_large_pages()
{
    madvise(const_cast<char *>(__executable_start),
            (std::size_t)(etext - __executable_start), MADV_HUGEPAGE);
}

[[gnu::section(".preinit_array"), gnu::used]]
static void (*const before_all)() = ask_for_large_pages;

// Nothing is taken apart: the process ends. Who listens need not wait until the
// kernel has taken all memory back.
[[noreturn]] static void leave(int code)
{
    std::fflush(stdout);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    _exit(code);
}

static void on_fatal(void *, const char *reason, bool)
{
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    leave(SIMT_CLANG_CRASHED);
}

// --- clang -------------------------------------------------------------------

// What the driver looks for, such as gcc and configuration files, has no say in
// how kernels are compiled: it sees no files.
static llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> no_files()
{
    llvm::SmallString<256> here;
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files(
        new llvm::vfs::InMemoryFileSystem);
    if (!llvm::sys::fs::current_path(here))
        files->setCurrentWorkingDirectory(here);
    return files;
}

// One command of clang's own, without what asks for more than there is here.
static bool read_command(const clang::driver::Compilation &compilation,
                         clang::DiagnosticsEngine &diagnostics,
                         clang::CompilerInvocation &invocation)
{
    const clang::driver::JobList &jobs = compilation.getJobs();
    if (jobs.size() != 1 || compilation.containsError())
        return false;
    const auto &words = jobs.begin()->getArguments();
    if (words.empty() || std::strcmp(words[0], "-cc1") != 0 ||
        !clang::CompilerInvocation::CreateFromArgs(
            invocation, llvm::ArrayRef(words).drop_front(), diagnostics))
        return false;
    return invocation.getFrontendOpts().Plugins.empty() &&
           invocation.getCodeGenOpts().PassPlugins.empty();
}

// LLVM's own options (-mllvm), which are the process's. False for unknown ones.
static bool set_options(const clang::CompilerInvocation &invocation)
{
    arguments words = {"runnel-clang"};
    for (const std::string &word : invocation.getFrontendOpts().LLVMArgs)
        words.push_back(word.c_str());
    return llvm::cl::ParseCommandLineOptions((int)words.size(), words.data(),
                                             "", &llvm::nulls());
}

// False, also, when there is anything to say: the clang that is installed says
// it under its own name.
static bool make_invocation(const arguments &words,
                            clang::CompilerInvocation &invocation)
{
    clang::DiagnosticsEngine diagnostics(
        new clang::DiagnosticIDs, new clang::DiagnosticOptions,
        new clang::IgnoringDiagConsumer);
    clang::driver::Driver driver(words[0],
                                 llvm::sys::getDefaultTargetTriple(),
                                 diagnostics, "clang", no_files());
    driver.setCheckInputsExist(false);
    std::unique_ptr<clang::driver::Compilation> compilation(
        driver.BuildCompilation(words));
    return compilation &&
           read_command(*compilation, diagnostics, invocation) &&
           diagnostics.getClient()->getNumErrors() == 0 &&
           diagnostics.getClient()->getNumWarnings() == 0;
}

static std::unique_ptr<clang::FrontendAction>
make_action(clang::frontend::ActionKind kind)
{
    switch (kind) {
    case clang::frontend::EmitObj:
        return std::make_unique<clang::EmitObjAction>();
    case clang::frontend::EmitAssembly:
        return std::make_unique<clang::EmitAssemblyAction>();
    case clang::frontend::ParseSyntaxOnly:
        return std::make_unique<clang::SyntaxOnlyAction>();
    case clang::frontend::PrintPreprocessedInput:
        return std::make_unique<clang::PrintPreprocessedAction>();
    default:
        return nullptr;
    }
}

static int run_clang(clang::CompilerInstance &compiler)
{
    auto action = make_action(compiler.getFrontendOpts().ProgramAction);
    if (!action)
        return SIMT_CLANG_DECLINES;
    return !compiler.ExecuteAction(*action);
}

// --- The linker --------------------------------------------------------------

#ifdef RUNNEL_LLD
LLD_HAS_DRIVER(elf)

// What fails here is left to the linker that is installed.
static void link_object(const simt_job &job)
{
    const arguments words = {"ld.lld", "--threads=1", SIMT_LINK_WORDS,
                             "-o", SIMT_LINKED, job.object};
    lld::elf::link(words, llvm::nulls(), llvm::nulls(), false, false);
}
#else
static void link_object(const simt_job &) {}
#endif

// --- The SIMT compiler -------------------------------------------------------

static void on_refused(void *, unsigned kernel, const char *why)
{
    std::printf("r %u %.*s\n", kernel, (int)std::strcspn(why, "\n"), why);
}

static void on_vectorised(void *, unsigned kernel, unsigned flags)
{
    std::printf("v %u %u\n", kernel, flags);
}

// The SIMT compiler knows the target's features: clang need not write all of
// them beside each function.
struct make_module : clang::EmitLLVMOnlyAction {
    bool BeginSourceFileAction(clang::CompilerInstance &compiler) override
    {
        compiler.getTargetOpts().Features.clear();
        return EmitLLVMOnlyAction::BeginSourceFileAction(compiler);
    }
};

static int run_simt(clang::CompilerInstance &compiler, simt_job &job)
{
    make_module action;
    if (!compiler.ExecuteAction(action))
        return 1;
    std::unique_ptr<llvm::Module> module = action.takeModule();
    if (!module)
        return SIMT_CLANG_DECLINES;
    module->getContext().setDiscardValueNames(false);
    char message[1024] = "";
    job.struct_size = sizeof job;
    job.refused = on_refused;
    job.vectorised = on_vectorised;
    if (runnel_simt_module(&job, llvm::wrap(module.release()), message,
                           sizeof message)) {
        std::printf("! %.*s\n", (int)std::strcspn(message, "\n"), message);
        return 0;
    }
    std::puts(".");
    std::fflush(stdout);  // the linker may end the process
    link_object(job);
    return 0;
}

// --- The command line --------------------------------------------------------

static unsigned number(const char *word)
{
    return (unsigned)std::strtoul(word, nullptr, 10);
}

// Index of the first word for clang, or 0.
static int read_job(int count, char **words, simt_job &job)
{
    int i = 1;
    for (; i + 1 < count && std::strcmp(words[i], "--") != 0; i += 2) {
        const char *value = words[i + 1];
        if (std::strcmp(words[i], "--object") == 0)
            job.object = value;
        else if (std::strcmp(words[i], "--target") == 0)
            job.target = value;
        else if (std::strcmp(words[i], "--tier") == 0)
            job.wherever = std::strcmp(value, "auto") != 0;
        else if (std::strcmp(words[i], "--dump") == 0)
            job.dump = value;
        else if (std::strcmp(words[i], "--assembly") == 0)
            job.assembly = value;
        else if (std::strcmp(words[i], "--block-size") == 0)
            std::sscanf(value, "%ux%ux%u", &job.block_size[0],
                        &job.block_size[1], &job.block_size[2]);
        else if (std::strcmp(words[i], "--only") == 0)
            job.only = true, job.kernel = number(value);
        else
            return 0;
    }
    return i + 1 < count ? i + 1 : 0;
}

int main(int count, char **words)
{
    simt_job job = {};
    int start = read_job(count, words, job);
    if (start == 0)
        leave(SIMT_CLANG_DECLINES);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    llvm::install_fatal_error_handler(on_fatal);
    arguments rest(words + start, words + count);
    auto invocation = std::make_shared<clang::CompilerInvocation>();
    if (!make_invocation(rest, *invocation) || !set_options(*invocation))
        leave(SIMT_CLANG_DECLINES);
    clang::CompilerInstance compiler;
    compiler.setInvocation(invocation);
    compiler.createDiagnostics();
    leave(job.object ? run_simt(compiler, job) : run_clang(compiler));
}
