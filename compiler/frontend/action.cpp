#include "frontend/frontend.h"
#include "source/source.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/Attr.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/ExternalSemaSource.h>
#include <clang/Sema/Lookup.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>

bool source_is_prelude(const clang::SourceManager &sources,
                       clang::SourceLocation place)
{
    const clang::OptionalFileEntryRef file = sources.getFileEntryRefForID(
        sources.getFileID(sources.getExpansionLoc(place)));
    if (!file)
        return true;  // text from memory
    llvm::StringRef name = file->getName();
    name.consume_front("./");
    return name == CC_PRELUDE_FILE || name.starts_with(CC_PARTS_FOLDER "/") ||
           name.starts_with(CC_STUB_FOLDER "/");
}

void source_report(clang::DiagnosticsEngine &diagnostics,
                   clang::DiagnosticsEngine::Level level,
                   clang::SourceLocation place, const std::string &sentence)
{
    const unsigned id = diagnostics.getCustomDiagID(level, "%0");
    diagnostics.Report(place, id) << sentence;
}

const char source_no_assembly[] =
    "inline PTX or other assembly is not supported by Runnel on the CPU";

// --- The table behind the source ---------------------------------------------

// The names in the table's text that stand for declarations.
class table_names : public clang::ExternalSemaSource {
public:
    explicit table_names(const records &found) : found_(found) {}

    bool LookupUnqualified(clang::LookupResult &result,
                           clang::Scope *) override
    {
        const clang::IdentifierInfo *name =
            result.getLookupName().getAsIdentifierInfo();
        const clang::ValueDecl *declaration =
            name ? records_declared(found_, name->getName()) : nullptr;
        if (declaration)
            result.addDecl(const_cast<clang::ValueDecl *>(declaration));
        return declaration != nullptr;
    }

private:
    const records &found_;
};

// Whether a place is in the lines that driver/job.c writes behind the source.
static bool is_behind(const clang::SourceManager &sources,
                      clang::SourceLocation place)
{
    const auto [file, offset] = sources.getDecomposedLoc(place);
    return file == sources.getMainFileID() &&
           offset + std::strlen(clang_pragmas) >=
               sources.getBufferData(file).size();
}

// Replaces a pragma behind the source by the text that write() returns.
class table_writer : public clang::PragmaHandler {
public:
    table_writer(const char *word, clang::Sema &sema,
                 const std::vector<std::string> &expressions, records &found)
        : PragmaHandler(word), sema_(sema), expressions_(expressions),
          found_(found)
    {
    }

    void HandlePragma(clang::Preprocessor &preprocessor,
                      clang::PragmaIntroducer introducer,
                      clang::Token &token) override
    {
        const bool inside = !sema_.CurContext->isTranslationUnit();
        preprocessor.DiscardUntilEndOfDirective(token);
        // A brace that is missing, or an error, was told or will be. A pragma
        // of the source's own means nothing.
        if (inside || done_ ||
            !is_behind(sema_.getSourceManager(), introducer.Loc))
            return;
        done_ = true;
        if (preprocessor.getDiagnostics().hasErrorOccurred()) {
            tell_own();
            return;
        }
        const std::string text = write();
        if (text.empty())
            return;
        clang::FileID file = preprocessor.getSourceManager().createFileID(
            llvm::MemoryBuffer::getMemBufferCopy(text, CC_RECORDS_FILE),
            clang::SrcMgr::C_System, 0, 0, introducer.Loc);
        preprocessor.EnterSourceFile(file, nullptr, introducer.Loc);
    }

protected:
    virtual std::string write() = 0;
    virtual void tell_own() {}
    clang::Sema &sema_;
    const std::vector<std::string> &expressions_;
    records &found_;

private:
    bool done_ = false;
};

class expression_writer : public table_writer {
public:
    using table_writer::table_writer;

protected:
    std::string write() override
    {
        return records_are_clear(sema_, expressions_)
                   ? records_name(expressions_) : "";
    }

    void tell_own() override
    {
        overrides_report(sema_.getASTContext().getTranslationUnitDecl());
    }
};

class record_writer : public table_writer {
public:
    using table_writer::table_writer;

protected:
    std::string write() override
    {
        return records_find(sema_, expressions_, found_)
                   ? records_write(sema_.getASTContext(), found_) : "";
    }
};

// --- Files that may not be included ------------------------------------------

class include_guard : public clang::PPCallbacks {
public:
    include_guard(const clang_source &source,
                  clang::DiagnosticsEngine &diagnostics)
        : source_(source), diagnostics_(diagnostics),
          id_(diagnostics.getCustomDiagID(
              clang::DiagnosticsEngine::Fatal,
              "'%0' may not be included: untrusted source gets the given "
              "headers and files of -I folders"))
    {
    }

    void InclusionDirective(clang::SourceLocation place, const clang::Token &,
                            llvm::StringRef name, bool, clang::CharSourceRange,
                            clang::OptionalFileEntryRef file, llvm::StringRef,
                            llvm::StringRef, const clang::Module *, bool,
                            clang::SrcMgr::CharacteristicKind) override
    {
        if (file && !source_.may_include(source_.user,
                                         file->getName().str().c_str()))
            diagnostics_.Report(place, id_) << name;
    }

private:
    const clang_source &source_;
    clang::DiagnosticsEngine &diagnostics_;
    unsigned id_;
};

// --- clang's callbacks -------------------------------------------------------

// Reads all of a source before code is made of it.
class source_reader : public clang::SemaConsumer {
public:
    source_reader(const clang_source &source,
                  const std::vector<std::string> &expressions, records &found,
                  std::unique_ptr<clang::CodeGenerator> generator,
                  clang::CompilerInstance &compiler)
        : source_(source), expressions_(expressions), found_(found),
          generator_(std::move(generator)), compiler_(compiler)
    {
    }

    void Initialize(clang::ASTContext &context) override
    {
        generator_->Initialize(context);
    }

    void InitializeSema(clang::Sema &sema) override
    {
        clang::Preprocessor &preprocessor = sema.getPreprocessor();
        sema.addExternalSource(new table_names(found_));
        preprocessor.AddPragmaHandler(new expression_writer(
            CLANG_EXPRESSIONS, sema, expressions_, found_));
        preprocessor.AddPragmaHandler(
            new record_writer(CLANG_TABLE, sema, expressions_, found_));
        if (source_.may_include)
            preprocessor.addPPCallbacks(std::make_unique<include_guard>(
                source_, preprocessor.getDiagnostics()));
    }

    // clang skips the bodies of host functions, which may use any library.
    bool shouldSkipFunctionBody(clang::Decl *function) override
    {
        const clang::FunctionDecl *one = function->getAsFunction();
        return one && !dialect_is_of_device(one);
    }

    bool HandleTopLevelDecl(clang::DeclGroupRef group) override
    {
        groups_.push_back(group);
        return true;
    }

    void HandleInlineFunctionDefinition(clang::FunctionDecl *one) override
    {
        generator_->HandleInlineFunctionDefinition(one);
    }
    void HandleInterestingDecl(clang::DeclGroupRef group) override
    {
        generator_->HandleInterestingDecl(group);
    }
    void HandleTagDeclDefinition(clang::TagDecl *one) override
    {
        generator_->HandleTagDeclDefinition(one);
    }
    void HandleTagDeclRequiredDefinition(const clang::TagDecl *one) override
    {
        generator_->HandleTagDeclRequiredDefinition(one);
    }
    void HandleCXXImplicitFunctionInstantiation(
        clang::FunctionDecl *one) override
    {
        generator_->HandleCXXImplicitFunctionInstantiation(one);
    }
    void HandleCXXStaticMemberVarInstantiation(clang::VarDecl *one) override
    {
        generator_->HandleCXXStaticMemberVarInstantiation(one);
    }
    void CompleteTentativeDefinition(clang::VarDecl *one) override
    {
        generator_->CompleteTentativeDefinition(one);
    }
    void CompleteExternalDeclaration(clang::DeclaratorDecl *one) override
    {
        generator_->CompleteExternalDeclaration(one);
    }
    void AssignInheritanceModel(clang::CXXRecordDecl *one) override
    {
        generator_->AssignInheritanceModel(one);
    }
    void HandleVTable(clang::CXXRecordDecl *one) override
    {
        generator_->HandleVTable(one);
    }

    void HandleTranslationUnit(clang::ASTContext &context) override
    {
        clang::DiagnosticsEngine &diagnostics = compiler_.getDiagnostics();
        if (diagnostics.hasErrorOccurred())
            return;
        for (clang::DeclGroupRef group : groups_)
            generator_->HandleTopLevelDecl(group);
        generator_->HandleTranslationUnit(context);
        llvm::Module *module = generator_->GetModule();
        if (module && !diagnostics.hasErrorOccurred())
            device_finish(*module, *generator_, diagnostics);
    }

    std::unique_ptr<llvm::Module> take_module()
    {
        return std::unique_ptr<llvm::Module>(generator_->ReleaseModule());
    }

private:
    const clang_source &source_;
    const std::vector<std::string> &expressions_;
    records &found_;
    std::unique_ptr<clang::CodeGenerator> generator_;
    clang::CompilerInstance &compiler_;
    std::vector<clang::DeclGroupRef> groups_;
};

// --- The action --------------------------------------------------------------

source_action::source_action(const clang_source &source)
    : source_(source),
      expressions_(source.expressions,
                   source.expressions + source.expression_count)
{
}

source_action::~source_action() = default;

// The SIMT compiler knows the target's features: clang need not write all of
// them beside each function.
bool source_action::BeginSourceFileAction(clang::CompilerInstance &compiler)
{
    dialect_set_default(source_.default_device);
    if (source_.simt)
        compiler.getTargetOpts().Features.clear();
    return true;
}

std::unique_ptr<clang::ASTConsumer>
source_action::CreateASTConsumer(clang::CompilerInstance &compiler,
                                 llvm::StringRef name)
{
    std::unique_ptr<clang::CodeGenerator> generator(clang::CreateLLVMCodeGen(
        compiler.getDiagnostics(), name, &compiler.getVirtualFileSystem(),
        compiler.getHeaderSearchOpts(), compiler.getPreprocessorOpts(),
        compiler.getCodeGenOpts(), context_));
    auto reader = std::make_unique<source_reader>(
        source_, expressions_, found_, std::move(generator), compiler);
    reader_ = reader.get();
    return reader;
}

void source_action::EndSourceFileAction()
{
    if (!getCompilerInstance().getDiagnostics().hasErrorOccurred())
        module_ = reader_->take_module();
}

std::unique_ptr<llvm::Module> source_action::take_module()
{
    return std::move(module_);
}
