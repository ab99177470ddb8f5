// clang, the SIMT compiler and lld as functions. Kernels stay in memory between
// them. Linked statically, at fixed addresses, they start in a tenth of the
// time of the clang program, which spends its time on relocations of LLVM's
// shared libraries.
#include "frontend/frontend.h"

#include <clang/Basic/Version.h>
#include <clang/CodeGen/BackendUtil.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
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
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

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

// Called for LLVM's fatal errors. `own_fault` is false if the source causes the
// error, for example by its assembly.
static void on_fatal(void *, const char *reason, bool own_fault)
{
    std::fprintf(stderr, "fatal error: error in backend: %s\n", reason);
    _exit(own_fault ? CLANG_CRASHED : 1);
}

// --- clang -------------------------------------------------------------------

// The driver's searches, for gcc and configuration files, must not influence
// the compilation: the driver sees no files.
static llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> no_files()
{
    llvm::SmallString<256> here;
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files(
        new llvm::vfs::InMemoryFileSystem);
    if (!llvm::sys::fs::current_path(here))
        files->setCurrentWorkingDirectory(here);
    return files;
}

// The driver makes one command of clang's own of a command line.
static bool read_command(const clang::driver::Compilation &compilation,
                         clang::DiagnosticsEngine &diagnostics,
                         clang::CompilerInvocation &invocation)
{
    const clang::driver::JobList &jobs = compilation.getJobs();
    if (jobs.size() != 1 || compilation.containsError())
        return false;
    const auto &words = jobs.begin()->getArguments();
    return !words.empty() && std::strcmp(words[0], "-cc1") == 0 &&
           clang::CompilerInvocation::CreateFromArgs(
               invocation, llvm::ArrayRef(words).drop_front(), diagnostics);
}

// LLVM's own options (-mllvm), which are the process's. False for unknown ones.
static bool set_options(const clang::CompilerInvocation &invocation)
{
    arguments words = {"runnel-cc"};
    for (const std::string &word : invocation.getFrontendOpts().LLVMArgs)
        words.push_back(word.c_str());
    return llvm::cl::ParseCommandLineOptions((int)words.size(), words.data(),
                                             "", &llvm::errs());
}

static bool make_invocation(const arguments &words,
                            clang::CompilerInvocation &invocation)
{
    auto options = llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
    clang::DiagnosticsEngine diagnostics(
        new clang::DiagnosticIDs, options,
        new clang::TextDiagnosticPrinter(llvm::errs(), options.get()));
    clang::driver::Driver driver(words[0],
                                 llvm::sys::getDefaultTargetTriple(),
                                 diagnostics, "clang", no_files());
    driver.setCheckInputsExist(false);
    std::unique_ptr<clang::driver::Compilation> compilation(
        driver.BuildCompilation(words));
    return compilation &&
           read_command(*compilation, diagnostics, invocation) &&
           diagnostics.getClient()->getNumErrors() == 0;
}

// CUDA's language for a device that is the host's processor.
static void speak_cuda(clang::LangOptions &language)
{
    language.CUDA = true;
    language.CUDAIsDevice = true;
    language.CUDAAllowVariadicFunctions = true;
}

// --- The linker --------------------------------------------------------------

LLD_HAS_DRIVER(elf)

// Without libraries, which does where none are needed; otherwise
// driver/linker.c finds out what is missing.
static void link_object(const simt_job &job)
{
    const arguments words = {"ld.lld", "--threads=1", SIMT_LINK_WORDS,
                             "-o", SIMT_LINKED, job.object};
    lld::elf::link(words, llvm::nulls(), llvm::nulls(), false, false);
}

// Makes job.object of the objects of several processes, since object/elf.c
// reads one.
static bool join_objects(const simt_job &job, int count)
{
    std::vector<std::string> paths;
    for (int i = 0; i < count; i++)
        paths.push_back(job.object + ("." + std::to_string(i)));
    arguments words = {"ld.lld", "--threads=1", "-r", "-o", job.object};
    for (const std::string &path : paths)
        words.push_back(path.c_str());
    const bool done = lld::elf::link(words, llvm::nulls(), llvm::nulls(), false,
                                     false);
    lld::CommonLinkerContext::destroy();
    return done;
}

// --- The SIMT compiler -------------------------------------------------------

static void on_refused(void *, unsigned kernel, const char *why)
{
    std::printf("r %u %.*s\n", kernel, (int)std::strcspn(why, "\n"), why);
}

static void on_vectorised(void *, unsigned kernel, unsigned flags)
{
    std::printf("v %u %u\n", kernel, flags);
}

static int run_simt(std::unique_ptr<llvm::Module> module, simt_job &job)
{
    char message[1024] = "";
    job.refused = on_refused;
    job.vectorised = on_vectorised;
    const int count = simt_compile(&job, llvm::wrap(module.release()), message,
                                   sizeof message);
    if (count < 0) {
        std::printf("! %.*s\n", (int)std::strcspn(message, "\n"), message);
        return 0;
    }
    if (count > 1 && !join_objects(job, count)) {
        std::puts("! the objects of several processes do not fit");
        return 0;
    }
    std::puts(".");
    std::fflush(stdout);  // the linker may end the process
    link_object(job);
    if (count > 1)
        simt_reap();
    return 0;
}

// --- The functions -----------------------------------------------------------

// Reads the command line into `compiler`. 0 or an exit code.
static int start(const clang_source &source, clang::CompilerInstance &compiler)
{
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    llvm::install_fatal_error_handler(on_fatal);
    auto invocation = std::make_shared<clang::CompilerInvocation>();
    if (!make_invocation(arguments(source.words, source.words + source.count),
                         *invocation) ||
        !set_options(*invocation))
        return 1;
    speak_cuda(invocation->getLangOpts());
    invocation->getFrontendOpts().SkipFunctionBodies = true;
    compiler.setInvocation(invocation);
    compiler.createDiagnostics();
    return 0;
}

// The kernels by their numbers, a line each.
static void tell_kernels(const clang_source &source, const records &found)
{
    for (std::size_t i = 0; i < found.kernels.size(); i++) {
        const std::string &name = found.kernels[i].name;
        std::printf("k %.*s\n", (int)std::strcspn(name.c_str(), "\n"),
                    name.c_str());
        if (source.only && name == source.only)
            source.simt->kernel = (unsigned)i;
    }
}

// Code for one thread, by clang's own passes, into the file that the command
// line names.
static int emit(clang::CompilerInstance &compiler, llvm::Module &module)
{
    const clang::frontend::ActionKind kind =
        compiler.getFrontendOpts().ProgramAction;
    auto file = compiler.createOutputFile(
        compiler.getFrontendOpts().OutputFile, true, true, false);
    if (!file)
        return CLANG_CRASHED;
    clang::EmitBackendOutput(
        compiler.getDiagnostics(), compiler.getHeaderSearchOpts(),
        compiler.getCodeGenOpts(), compiler.getTargetOpts(),
        compiler.getLangOpts(), compiler.getTarget().getDataLayoutString(),
        &module,
        kind == clang::frontend::EmitAssembly ? clang::Backend_EmitAssembly
                                              : clang::Backend_EmitObj,
        &compiler.getVirtualFileSystem(), std::move(file));
    return compiler.getDiagnostics().hasErrorOccurred();
}

// The parser has read all before the semicolon when the pragma comes.
const char clang_pragmas[] = ";\n#pragma " CLANG_EXPRESSIONS
                             "\n;\n#pragma " CLANG_TABLE "\n";

const char *clang_version(void)
{
    return CLANG_VERSION_STRING;
}

const char *clang_processor(void)
{
    static const std::string name = llvm::sys::getHostCPUName().str();
    return name.c_str();
}

int clang_compile(const clang_source *source)
{
    clang::CompilerInstance compiler;
    source_action action(*source);
    int status = start(*source, compiler);
    if (status)
        return status;
    bool done = compiler.ExecuteAction(action);
    std::unique_ptr<llvm::Module> module = action.take_module();
    if (!done || !module)
        return 1;
    if (source->only)
        source->simt->kernel = (unsigned)action.found().kernels.size();
    tell_kernels(*source, action.found());
    module->getContext().setDiscardValueNames(false);
    return source->simt ? run_simt(std::move(module), *source->simt)
                        : emit(compiler, *module);
}

int clang_link(const char *const *words, size_t count)
{
    arguments all(words, words + count);
    all.insert(all.begin() + 1, "--threads=1");
    return !lld::elf::link(all, llvm::outs(), llvm::errs(), false, false);
}
