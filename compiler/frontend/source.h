// Reads a source as CUDA code for the device, and adds the table of kernels.
#pragma once

#include "clang.h"
#include "records.h"

#include <clang/CodeGen/CodeGenAction.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>

class source_reader;

// Makes LLVM IR of the kernels of a source and of what they call.
class source_action : public clang::ASTFrontendAction {
public:
    explicit source_action(const clang_source &source);
    ~source_action() override;

    // NULL if clang has told an error.
    std::unique_ptr<llvm::Module> take_module();
    const records &found() const { return found_; }

protected:
    bool BeginSourceFileAction(clang::CompilerInstance &compiler) override;
    std::unique_ptr<clang::ASTConsumer>
    CreateASTConsumer(clang::CompilerInstance &compiler,
                      llvm::StringRef name) override;
    void EndSourceFileAction() override;

private:
    const clang_source &source_;
    std::vector<std::string> expressions_;
    records found_;
    llvm::LLVMContext context_;
    source_reader *reader_ = nullptr;  // clang's, while it reads
    std::unique_ptr<llvm::Module> module_;
};

// Whether a place is in the prelude, a header of its own or text that is made
// here. A source may call its files system headers.
bool source_is_prelude(const clang::SourceManager &sources,
                       clang::SourceLocation place);

// Reports a sentence of this compiler's at a place in the source.
void source_report(clang::DiagnosticsEngine &diagnostics,
                   clang::DiagnosticsEngine::Level level,
                   clang::SourceLocation place, const std::string &sentence);

// The sentence for assembly in a source.
extern const char source_no_assembly[];

// Whether variables and, by the prelude's pragma, functions without a word for
// their place are the device's.
void dialect_set_default(bool device);

// Whether a function runs there.
bool dialect_is_of_device(const clang::Decl *function);

// Writes a line "o NAME DECLARATION" for each function that is the prelude's,
// too, and "o NAME -" for other things.
void own_tell(const clang::DeclContext *scope);

// Makes of a module that clang made for the device what the rest of the
// compiler expects.
void device_finish(llvm::Module &module, clang::CodeGenerator &generator,
                   clang::DiagnosticsEngine &diagnostics);
