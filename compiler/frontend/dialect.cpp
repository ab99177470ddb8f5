// Where NVRTC is more lenient than clang. The linker (--wrap) has clang call
// the functions of this file, and clang's own get names that begin with
// __real_.
#include "frontend/frontend.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Sema/Lookup.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaCUDA.h>

static bool default_device;

void dialect_set_default(bool device)
{
    default_device = device;
}

bool dialect_is_of_device(const clang::Decl *function)
{
    return function->hasAttr<clang::CUDADeviceAttr>() ||
           function->hasAttr<clang::CUDAGlobalAttr>();
}

template <class Attribute> static void add(clang::Decl *declaration)
{
    declaration->addAttr(
        Attribute::CreateImplicit(declaration->getASTContext()));
}

// --- Functions ---------------------------------------------------------------

#define ADD_PLACES                                                   \
    "_ZN5clang8SemaCUDA23maybeAddHostDeviceAttrsEPNS_12FunctionDeclE" \
    "RKNS_12LookupResultE"
void clang_add_places(clang::SemaCUDA *cuda, clang::FunctionDecl *function,
                      const clang::LookupResult &previous)
    __asm__("__real_" ADD_PLACES);
void add_places(clang::SemaCUDA *cuda, clang::FunctionDecl *function,
                const clang::LookupResult &previous)
    __asm__("__wrap_" ADD_PLACES);

static bool has_place(const clang::FunctionDecl *function)
{
    return dialect_is_of_device(function) ||
           function->hasAttr<clang::CUDAHostAttr>();
}

// A definition without __device__ is a device function if an earlier
// declaration has the word: __device__ int f(); int f() { return 1; }
void add_places(clang::SemaCUDA *cuda, clang::FunctionDecl *function,
                const clang::LookupResult &previous)
{
    clang::ASTContext &context = function->getASTContext();
    const clang::SourceManager &sources = context.getSourceManager();
    for (const clang::NamedDecl *other : previous) {
        const clang::FunctionDecl *before = other->getAsFunction();
        if (before && !has_place(function) &&
            before->hasAttr<clang::CUDADeviceAttr>() &&
            !before->isTemplated() &&
            !source_is_prelude(sources, before->getLocation()) &&
            context.hasSameType(before->getType(), function->getType())) {
            add<clang::CUDADeviceAttr>(function);
            if (before->hasAttr<clang::CUDAHostAttr>())
                add<clang::CUDAHostAttr>(function);
        }
    }
    clang_add_places(cuda, function, previous);
}

// --- Variables ---------------------------------------------------------------

#define CHECK "_ZN5clang8SemaCUDA23checkAllowedInitializerEPNS_7VarDeclE"
void clang_check(clang::SemaCUDA *cuda, clang::VarDecl *variable)
    __asm__("__real_" CHECK);
void check_variable(clang::SemaCUDA *cuda, clang::VarDecl *variable)
    __asm__("__wrap_" CHECK);

// The constructor, where only the class says what a variable is to begin with.
static clang::CXXConstructorDecl *constructor_of(clang::VarDecl *variable)
{
    const clang::Expr *value = variable->getInit();
    const auto *call =
        value ? clang::dyn_cast<clang::CXXConstructExpr>(
                    value->IgnoreImplicit()) : nullptr;
    return call && variable->getInitStyle() == clang::VarDecl::CallInit &&
                   call->getParenOrBraceRange().isInvalid()
               ? call->getConstructor() : nullptr;
}

// Static variables of the device's functions are the device's, and so are all
// others if that is the default.
static bool lacks_place(const clang::VarDecl *variable)
{
    const auto *function =
        clang::dyn_cast<clang::FunctionDecl>(variable->getDeclContext());
    const clang::SourceManager &sources =
        variable->getASTContext().getSourceManager();
    return !variable->hasAttr<clang::CUDASharedAttr>() &&
           !variable->hasAttr<clang::CUDAConstantAttr>() &&
           !variable->hasAttr<clang::CUDADeviceAttr>() &&
           variable->hasGlobalStorage() &&
           (function ? dialect_is_of_device(function)
                     : default_device &&
                           !source_is_prelude(sources,
                                              variable->getLocation()));
}

// Bytes of an array that no thread's stack can hold.
static const uint64_t most_local = 4 << 20;

static void check_size(clang::Sema &sema, const clang::VarDecl *variable)
{
    const clang::QualType type = variable->getType();
    const auto *function =
        clang::dyn_cast<clang::FunctionDecl>(variable->getDeclContext());
    if (!function || !dialect_is_of_device(function) ||
        !variable->hasLocalStorage() || variable->isInvalidDecl() ||
        type->isDependentType() || !type->isConstantArrayType())
        return;
    const auto size = (uint64_t)sema.getASTContext()
                          .getTypeSizeInChars(type).getQuantity();
    if (size > most_local)
        sema.Diag(variable->getLocation(),
                  sema.getDiagnostics().getCustomDiagID(
                      clang::DiagnosticsEngine::Error,
                      "array '%0' has %1 bytes, more than the local memory of "
                      "a thread"))
            << variable->getName() << std::to_string(size);
}

// Classes of variables in shared memory may have constructors that do
// something: it is not done.
void check_variable(clang::SemaCUDA *cuda, clang::VarDecl *variable)
{
    check_size(cuda->SemaRef, variable);
    if (lacks_place(variable))
        add<clang::CUDADeviceAttr>(variable);
    clang::CXXConstructorDecl *constructor = constructor_of(variable);
    if (!variable->hasAttr<clang::CUDASharedAttr>() || !constructor ||
        variable->isInvalidDecl())
        clang_check(cuda, variable);
    else if (!cuda->isEmptyConstructor(variable->getLocation(), constructor))
        cuda->SemaRef.Diag(variable->getLocation(),
                           cuda->SemaRef.getDiagnostics().getCustomDiagID(
                               clang::DiagnosticsEngine::Warning,
                               "a __shared__ variable is not initialized: "
                               "shared memory starts undefined"));
}
