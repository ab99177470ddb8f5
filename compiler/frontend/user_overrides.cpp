// Lists the names that both the source and the prelude define. A second
// compilation renames those of the prelude (source/user_overrides.c).
#include "frontend/frontend.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Basic/SourceManager.h>

#include <cstdio>

// Types that there are before the source.
static bool is_known(const clang::SourceManager &sources, clang::QualType type)
{
    type = type.getCanonicalType();
    while (type->isPointerType() || type->isReferenceType())
        type = type->getPointeeType();
    const clang::TagDecl *tag = type->getAsTagDecl();
    return type->isBuiltinType() ||
           (tag && source_is_prelude(sources, tag->getLocation()));
}

static bool is_known(const clang::SourceManager &sources,
                     const clang::FunctionDecl *function)
{
    for (const clang::ParmVarDecl *one : function->parameters())
        if (!is_known(sources, one->getType()))
            return false;
    return is_known(sources, function->getReturnType()) &&
           !function->isVariadic();
}

// static __device__ float sinf(float). Plain C names are another's in assembly:
// libm may have them.
static std::string declare(const clang::FunctionDecl *function)
{
    const clang::ASTContext &context = function->getASTContext();
    const clang::PrintingPolicy &policy = context.getPrintingPolicy();
    const std::string name = function->getNameAsString();
    std::string text = name + "(";
    for (const clang::ParmVarDecl *one : function->parameters())
        text += (one == *function->param_begin() ? "" : ", ") +
                one->getType().getCanonicalType().getAsString(policy);
    text += ")";
    function->getReturnType().getCanonicalType().getAsStringInternal(text,
                                                                     policy);
    if (function->hasAttr<clang::CUDADeviceAttr>())
        text = "__device__ " + text;
    if (function->hasAttr<clang::CUDAHostAttr>())
        text = "__host__ " + text;
    const auto *type = function->getType()->getAs<clang::FunctionProtoType>();
    if (type && type->isNothrow())
        text += " noexcept";
    text = "static " + text;
    return function->isInExternCContext()
               ? "extern \"C\" { " + text + " __asm__(\"rnl_own_" + name +
                     "\"); }"
               : text + ";";
}

static bool are_alike(const clang::FunctionDecl *a,
                      const clang::FunctionDecl *b)
{
    if (a->getNumParams() != b->getNumParams())
        return false;
    for (unsigned i = 0; i < a->getNumParams(); i++)
        if (!a->getASTContext().hasSameUnqualifiedType(
                a->getParamDecl(i)->getType(), b->getParamDecl(i)->getType()))
            return false;
    return true;
}

// Whether the prelude has what this declares. Functions of other parameters
// are overloads.
static bool is_of_prelude(const clang::NamedDecl *own)
{
    clang::ASTContext &context = own->getASTContext();
    const clang::SourceManager &sources = context.getSourceManager();
    const auto *function = clang::dyn_cast<clang::FunctionDecl>(own);
    for (const clang::Decl *other : own->redecls())
        if (source_is_prelude(sources, other->getLocation()))
            return true;
    for (const clang::NamedDecl *other :
         context.getTranslationUnitDecl()->lookup(own->getDeclName())) {
        const auto *theirs = clang::dyn_cast<clang::FunctionDecl>(other);
        if (source_is_prelude(sources, other->getLocation()) &&
            (!function || (theirs && are_alike(function, theirs))))
            return true;
    }
    return false;
}

static void tell(const clang::NamedDecl *own)
{
    const clang::SourceManager &sources =
        own->getASTContext().getSourceManager();
    const auto *function = clang::dyn_cast<clang::FunctionDecl>(own);
    const std::string name = own->getNameAsString();
    if (!function)
        std::printf("o %s -\n", name.c_str());
    else
        std::printf("o %s %s\n", name.c_str(),
                    is_known(sources, function) ? declare(function).c_str()
                                                : "");
}

static bool is_own(const clang::NamedDecl *one)
{
    const clang::SourceManager &sources =
        one->getASTContext().getSourceManager();
    return clang::isa<clang::FunctionDecl, clang::VarDecl,
                      clang::TypedefNameDecl, clang::EnumConstantDecl>(one) &&
           one->getDeclName().isIdentifier() && !one->isImplicit() &&
           !source_is_prelude(sources, one->getLocation()) &&
           is_of_prelude(one);
}

// Whether something was told.
static bool tell_all(const clang::DeclContext *scope, bool functions)
{
    bool told = false;
    for (const clang::Decl *one : scope->decls()) {
        const auto *named = clang::dyn_cast<clang::NamedDecl>(one);
        const auto *list = clang::dyn_cast<clang::EnumDecl>(one);
        if (clang::isa<clang::LinkageSpecDecl>(one) ||
            (list && !list->isScoped()))
            told |= tell_all(clang::cast<clang::DeclContext>(one), functions);
        if (named && clang::isa<clang::FunctionDecl>(one) == functions &&
            is_own(named)) {
            tell(named);
            told = true;
        }
    }
    return told;
}

// Types and variables go first, since the types of functions may depend on
// them: functions are listed only once the others have no conflict.
void overrides_report(const clang::DeclContext *scope)
{
    if (!tell_all(scope, false))
        tell_all(scope, true);
}
