// The kernels and variables of a source, and the table of them that an object
// has: from clang's syntax tree, back to clang as text.
#pragma once

#include <clang/AST/Decl.h>

#include <string>
#include <vector>

namespace clang {
class Sema;
}

// A kernel, or a variable of device memory, under the name that programs use.
struct record {
    std::string name;
    const clang::ValueDecl *declaration;
    std::string address;  // a C++ expression; "" for that of `declaration`
};

struct records {
    std::vector<record> kernels, variables;
};

// Name expressions become the variables rnl_expression0, 1, … of this text.
std::string records_name(const std::vector<std::string> &expressions);

// Whether each expression that is a plain name means one thing; otherwise clang
// has told what it may mean.
bool records_are_clear(clang::Sema &sema,
                       const std::vector<std::string> &expressions);

// Finds what the source defines and what the expressions name, whose text has
// been parsed. False if clang has told what is wrong with one of them.
bool records_find(clang::Sema &sema,
                  const std::vector<std::string> &expressions,
                  records &found);

// The table as text. Declarations are written as rnl_kernel<n> and
// rnl_variable<n>: names that records_declared leads back.
std::string records_write(clang::ASTContext &context, const records &records);
const clang::ValueDecl *records_declared(const records &records,
                                         llvm::StringRef name);
