// Room frontend, inside: reads a source as CUDA code for the device, and adds
// the table of kernels. clang.h is the interface for the driver.
#pragma once

#include "frontend/clang.h"

#include <clang/AST/Decl.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

namespace clang {
class Sema;
}

// --- kernel_table.cpp: kernels and variables, and their table as text --------

// A kernel, or a variable of device memory, under the name for programs.
struct record {
    std::string name;
    const clang::ValueDecl *declaration;
    std::string address;  // a C++ expression; "" for that of `declaration`
};

struct records {
    std::vector<record> kernels, variables;
};

// Declares name expressions as the variables rnl_expression0, 1, …
std::string records_name(const std::vector<std::string> &expressions);

// True if each expression that is a plain name has one meaning; otherwise clang
// has reported the candidates.
bool records_are_clear(clang::Sema &sema,
                       const std::vector<std::string> &expressions);

// Finds the source's definitions and the meanings of the expressions, whose
// text has been parsed. False if clang has reported an error in one of them.
bool records_find(clang::Sema &sema,
                  const std::vector<std::string> &expressions,
                  records &found);

// The table as text. Declarations are written as rnl_kernel<n> and
// rnl_variable<n>, which records_declared leads back to the declarations.
std::string records_write(clang::ASTContext &context, const records &records);
const clang::ValueDecl *records_declared(const records &records,
                                         llvm::StringRef name);

// --- action.cpp --------------------------------------------------------------

class source_reader;

// Makes LLVM IR of the kernels of a source and of the functions they reach.
class source_action : public clang::ASTFrontendAction {
public:
    explicit source_action(const clang_source &source);
    ~source_action() override;

    // NULL if clang has reported an error.
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

// True for a place in the prelude, in a built-in header or in generated text. A
// source may call its own files system headers.
bool source_is_prelude(const clang::SourceManager &sources,
                       clang::SourceLocation place);

// Reports a sentence of this compiler at a place in the source.
void source_report(clang::DiagnosticsEngine &diagnostics,
                   clang::DiagnosticsEngine::Level level,
                   clang::SourceLocation place, const std::string &sentence);

// The sentence for assembly in a source.
extern const char source_no_assembly[];

// --- dialect.cpp -------------------------------------------------------------

// Makes variables without execution space, and by the prelude's pragma such
// functions, the device's.
void dialect_set_default(bool device);

// True if a function runs on the device.
bool dialect_is_of_device(const clang::Decl *function);

// --- user_overrides.cpp ------------------------------------------------------

// Writes a line "o NAME DECLARATION" for each function of the source that the
// prelude has, too, and "o NAME -" for other declarations.
void overrides_report(const clang::DeclContext *scope);

// --- device_ir.cpp -----------------------------------------------------------

// Completes clang's module for the device.
void device_finish(llvm::Module &module, clang::CodeGenerator &generator,
                   clang::DiagnosticsEngine &diagnostics);
