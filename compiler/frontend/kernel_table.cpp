#include "frontend/frontend.h"
#include "source/source.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclFriend.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Mangle.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Sema/Lookup.h>
#include <clang/Sema/Sema.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>

static void report(clang::Sema &sema, clang::DiagnosticsEngine::Level level,
                   clang::SourceLocation place, const std::string &sentence)
{
    source_report(sema.getDiagnostics(), level, place, sentence);
}

static void refuse(clang::Sema &sema, clang::SourceLocation place,
                   const std::string &sentence)
{
    report(sema, clang::DiagnosticsEngine::Error, place, sentence);
}

static clang::PrintingPolicy policy_of(const clang::ASTContext &context)
{
    clang::PrintingPolicy policy = context.getPrintingPolicy();
    policy.SuppressUnwrittenScope = true;  // unnamed and inline namespaces
    return policy;
}

// With namespaces, and the arguments of a template's instance.
static std::string name_of(const clang::NamedDecl *declaration)
{
    std::string name;
    llvm::raw_string_ostream stream(name);
    declaration->getNameForDiagnostic(
        stream, policy_of(declaration->getASTContext()), true);
    return name;
}

// --- Kernels and variables of the source -------------------------------------

static bool is_kernel(const clang::FunctionDecl *function)
{
    return function->hasAttr<clang::CUDAGlobalAttr>();
}

// A positive number of 31 bits; 0 of anything else.
static uint64_t value_of(clang::ASTContext &context, const clang::Expr *e)
{
    const auto value = e->getIntegerConstantExpr(context);
    return value && value->isStrictlyPositive() && value->isIntN(31)
               ? value->getZExtValue() : 0;
}

// The blocks per axis of a kernel's clusters, as clang has read them.
static const clang::AnnotateAttr *cluster_of(const clang::FunctionDecl *kernel)
{
    for (const auto *annotation :
         kernel->specific_attrs<clang::AnnotateAttr>())
        if (annotation->getAnnotation() == "rnl.cluster")
            return annotation;
    return nullptr;
}

static bool is_cluster(const clang::AnnotateAttr *cluster,
                       clang::ASTContext &context)
{
    for (const clang::Expr *extent : cluster->args())
        if (value_of(context, extent) == 0)
            return false;
    return cluster->args_size() <= 3;
}

static bool can_be_copied(const clang::CXXRecordDecl *type)
{
    if (!type->hasDefinition())
        return true;
    for (const clang::CXXConstructorDecl *one : type->ctors())
        if (one->isCopyOrMoveConstructor() && !one->isDeleted())
            return true;
    return type->needsImplicitCopyConstructor() &&
           !type->defaultedCopyConstructorIsDeleted();
}

static const char *find_flaw(const clang::FunctionDecl *kernel)
{
    const clang::AnnotateAttr *cluster = cluster_of(kernel);
    if (cluster && !is_cluster(cluster, kernel->getASTContext()))
        return "has dimensions of a cluster that are not up to three positive "
               "integers";
    if (kernel->isVariadic())
        return "has a variable number of parameters";
    for (const clang::ParmVarDecl *parameter : kernel->parameters()) {
        const clang::CXXRecordDecl *type =
            parameter->getType()->getAsCXXRecordDecl();
        if (parameter->getType()->isRValueReferenceType())
            return "has a parameter that is an rvalue reference";
        if (type && !can_be_copied(type))
            return "has a parameter that cannot be copied";
    }
    return nullptr;
}

// Kernels that clang takes and CUDA does not.
static const char *find_offence(const clang::FunctionDecl *kernel)
{
    const auto *type = kernel->getType()->getAs<clang::FunctionProtoType>();
    if (kernel->isCXXClassMember() ||
        (kernel->getFriendObjectKind() &&
         kernel->isThisDeclarationADefinition()))
        return "a kernel cannot be a member of a class or defined in a friend "
               "declaration";
    if (kernel->isOverloadedOperator())
        return "an operator cannot be a kernel";
    if (type && type->hasExceptionSpec())
        return "a kernel cannot be noexcept";
    return nullptr;
}

// Whether a variable was declared so: to clang all constants of the host are.
static bool is_constant(const clang::VarDecl *variable)
{
    const auto *constant = variable->getAttr<clang::CUDAConstantAttr>();
    return constant && !constant->isImplicit();
}

struct collector {
    clang::Sema &sema;
    records &found;

    void add_kernel(const clang::FunctionDecl *kernel)
    {
        const char *offence = find_offence(kernel);
        const char *flaw = find_flaw(kernel);
        if (offence)
            refuse(sema, kernel->getLocation(), offence);
        else if (flaw)
            refuse(sema, kernel->getLocation(),
                   "kernel '" + name_of(kernel) + "' " + flaw);
        else
            found.kernels.push_back({name_of(kernel), kernel, ""});
    }

    void add_instances(const clang::FunctionTemplateDecl *pattern)
    {
        if (!is_kernel(pattern->getTemplatedDecl()))
            return;
        if (const char *offence = find_offence(pattern->getTemplatedDecl()))
            refuse(sema, pattern->getLocation(), offence);
        for (const clang::FunctionDecl *instance : pattern->specializations())
            if (instance->getTemplateSpecializationKind() ==
                clang::TSK_ExplicitInstantiationDefinition)
                add_kernel(instance);
    }

    // Code that would run when the object is loaded.
    void check_function(const clang::FunctionDecl *function)
    {
        if (function->hasAttr<clang::ConstructorAttr>() ||
            function->hasAttr<clang::DestructorAttr>() ||
            function->hasAttr<clang::IFuncAttr>())
            refuse(sema, function->getLocation(),
                   "dynamic initialization is not supported by Runnel on the "
                   "CPU");
    }

    void add_variable(const clang::VarDecl *variable)
    {
        if (variable->getTLSKind() != clang::VarDecl::TLS_None)
            refuse(sema, variable->getLocation(),
                   "thread_local is not supported in kernels");
        if ((is_constant(variable) ||
             variable->hasAttr<clang::CUDADeviceAttr>()) &&
            variable->isThisDeclarationADefinition() &&
            !variable->isTemplated() && variable->isFileVarDecl() &&
            !clang::isa<clang::VarTemplateSpecializationDecl>(variable) &&
            !variable->isCXXClassMember())
            found.variables.push_back({name_of(variable), variable, ""});
    }

    // Methods that are kernels, to refuse them.
    void check_class(const clang::CXXRecordDecl *type)
    {
        for (const clang::Decl *member : type->decls()) {
            if (const auto *f = clang::dyn_cast<clang::FriendDecl>(member))
                member = f->getFriendDecl();
            const auto *function =
                clang::dyn_cast_or_null<clang::FunctionDecl>(member);
            if (function && is_kernel(function))
                if (const char *offence = find_offence(function))
                    refuse(sema, function->getLocation(), offence);
        }
    }

    // The table has names of its own.
    void check_name(const clang::Decl *one)
    {
        const auto *named = clang::dyn_cast<clang::NamedDecl>(one);
        if (named && named->getIdentifier() &&
            named->getName().starts_with("rnl_"))
            refuse(sema, one->getLocation(),
                   "names that begin with rnl_ are reserved");
    }

    void add(const clang::Decl *one)
    {
        check_name(one);
        if (const auto *function = clang::dyn_cast<clang::FunctionDecl>(one)) {
            check_function(function);
            if (is_kernel(function) &&
                function->isThisDeclarationADefinition() &&
                !function->isDeleted() && !function->isInvalidDecl())
                add_kernel(function);
        } else if (const auto *pattern =
                       clang::dyn_cast<clang::FunctionTemplateDecl>(one)) {
            add_instances(pattern);
        } else if (const auto *variable =
                       clang::dyn_cast<clang::VarDecl>(one)) {
            add_variable(variable);
        } else if (const auto *type =
                       clang::dyn_cast<clang::CXXRecordDecl>(one)) {
            check_class(type);
        } else if (clang::isa<clang::FileScopeAsmDecl>(one)) {
            refuse(sema, one->getLocation(), source_no_assembly);
        } else if (clang::isa<clang::NamespaceDecl, clang::LinkageSpecDecl,
                              clang::ExportDecl>(one)) {
            add_all(clang::cast<clang::DeclContext>(one));
        }
    }

    void add_all(const clang::DeclContext *scope)
    {
        const clang::SourceManager &sources = sema.getSourceManager();
        for (const clang::Decl *one : scope->decls())
            if (!source_is_prelude(sources, one->getLocation()))
                add(one);
    }
};

// --- Name expressions --------------------------------------------------------

static std::string variable_of(std::size_t expression)
{
    return "rnl_expression" + std::to_string(expression);
}

// Words of the texts that a source may have macros of.
static const char own_words[] =
    "#undef auto\n#undef const\n#undef constexpr\n#undef extern\n"
    "#undef nullptr\n#undef sizeof\n#undef static\n#undef void\n";

std::string records_name(const std::vector<std::string> &expressions)
{
    std::string text = expressions.empty() ? "" : own_words;
    for (std::size_t i = 0; i < expressions.size(); i++)
        text += "static constexpr auto " + variable_of(i) +
                " =\n#line 1 \"name-expression\"\n" + expressions[i] +
                "\n#line 1 \"" CC_RECORDS_FILE "\"\n;\n";
    return text;
}

// Looks up a plain name such as "a::k" or "&k". False for other expressions.
static bool look_up(clang::Sema &sema, llvm::StringRef expression,
                    clang::LookupResult &result)
{
    clang::DeclContext *scope = sema.getASTContext().getTranslationUnitDecl();
    expression.consume_front("&");
    expression.consume_front("::");
    llvm::StringRef name = expression;
    while (!expression.empty()) {
        std::tie(name, expression) = expression.split("::");
        if (name.empty() || name.find_if_not([](char c) {
                return llvm::isAlnum(c) || c == '_';
            }) != llvm::StringRef::npos)
            return false;
        result.clear(clang::Sema::LookupOrdinaryName);
        result.setLookupName(&sema.getASTContext().Idents.get(name));
        if (!sema.LookupQualifiedName(result, scope))
            return false;
        if (expression.empty())
            return true;
        const auto *space = result.getAsSingle<clang::NamespaceDecl>();
        if (!space)
            return false;
        scope = const_cast<clang::NamespaceDecl *>(space);
    }
    return false;
}

static bool is_candidate(const clang::NamedDecl *declaration)
{
    const auto *function = declaration->getAsFunction();
    return function && is_kernel(function);
}

static bool is_clear(clang::Sema &sema, const std::string &expression)
{
    clang::LookupResult result(sema, clang::DeclarationName(),
                               clang::SourceLocation(),
                               clang::Sema::LookupOrdinaryName);
    result.suppressDiagnostics();
    if (!look_up(sema, expression, result))
        return true;
    std::vector<const clang::NamedDecl *> candidates;
    bool is_template = false;
    for (const clang::NamedDecl *one : result)
        if (is_candidate(one->getUnderlyingDecl())) {
            candidates.push_back(one->getUnderlyingDecl());
            is_template |= clang::isa<clang::FunctionTemplateDecl>(
                one->getUnderlyingDecl());
        }
    if (candidates.size() < 2 && !is_template)
        return true;
    clang::SourceManager &sources = sema.getSourceManager();
    const clang::FileID file = sources.createFileID(
        llvm::MemoryBuffer::getMemBufferCopy(expression, "name-expression"));
    refuse(sema, sources.getLocForStartOfFile(file),
           "'" + expression + "' does not tell which kernel is meant: write "
           "its signature or its template arguments");
    for (const clang::NamedDecl *one : candidates) {
        const std::string type = one->getAsFunction()->getType().getAsString(
            policy_of(sema.getASTContext()));
        report(sema, clang::DiagnosticsEngine::Note, one->getLocation(),
               "candidate: " + name_of(one) + " with type '" + type + "'");
    }
    return false;
}

bool records_are_clear(clang::Sema &sema,
                       const std::vector<std::string> &expressions)
{
    bool clear = true;
    for (const std::string &expression : expressions)
        clear &= is_clear(sema, expression);
    return clear;
}

static const clang::VarDecl *find_expression(clang::Sema &sema, std::size_t i)
{
    clang::ASTContext &context = sema.getASTContext();
    const clang::DeclarationName name = &context.Idents.get(variable_of(i));
    for (const clang::NamedDecl *one :
         context.getTranslationUnitDecl()->lookup(name))
        if (const auto *variable = clang::dyn_cast<clang::VarDecl>(one))
            return variable;
    return nullptr;
}

static const clang::ValueDecl *address_of(const clang::VarDecl *variable)
{
    const clang::APValue *value =
        variable ? variable->evaluateValue() : nullptr;
    if (!value || !value->isLValue())
        return nullptr;
    return value->getLValueBase().dyn_cast<const clang::ValueDecl *>();
}

static bool has_kernel(const records &found, const std::string &name)
{
    for (const record &kernel : found.kernels)
        if (kernel.name == name)
            return true;
    return false;
}

// Adds what an expression names, unless a kernel has that very name.
static void add_expression(collector &all, const std::string &expression,
                           const clang::VarDecl *variable)
{
    const clang::ValueDecl *named = address_of(variable);
    const auto *function =
        clang::dyn_cast_or_null<clang::FunctionDecl>(named);
    if (function && is_kernel(function)) {
        const char *flaw = find_flaw(function);
        if (flaw)
            refuse(all.sema, function->getLocation(),
                   "kernel '" + expression + "' " + flaw);
        else if (!has_kernel(all.found, expression))
            all.found.kernels.push_back({expression, function, ""});
    } else if (clang::isa_and_nonnull<clang::VarDecl>(named)) {
        all.found.variables.push_back(
            {expression, named, variable->getName().str()});
    } else if (variable) {
        refuse(all.sema, variable->getInit()->getExprLoc(),
               "a name expression names a kernel or a variable");
    }
}

bool records_find(clang::Sema &sema,
                  const std::vector<std::string> &expressions, records &found)
{
    collector all = {sema, found};
    all.add_all(sema.getASTContext().getTranslationUnitDecl());
    for (std::size_t i = 0; i < expressions.size(); i++)
        add_expression(all, expressions[i], find_expression(sema, i));
    return !sema.getDiagnostics().hasErrorOccurred();
}

// --- The table ---------------------------------------------------------------

static std::string literal(llvm::StringRef string)
{
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << '"';
    for (unsigned char c : string)
        if (llvm::isPrint(c) && c != '"' && c != '\\' && c != '?')
            stream << c;
        else
            stream << llvm::format("\\%03o", c);
    stream << "\", ";
    return text;
}

// rnl_value_kind of <runnel/module.h>.
enum value_kind { POINTER = 1, INTEGER = 2, FLOAT = 3, STRUCT = 4 };

static value_kind kind_of(const clang::ASTContext &context,
                          clang::QualType type)
{
    if (type->isPointerType() || type->isReferenceType())
        return POINTER;
    if (type->isIntegralOrEnumerationType() && !type->isBitIntType() &&
        context.getTypeSize(type) <= 64)
        return INTEGER;
    if (type->isSpecificBuiltinType(clang::BuiltinType::Float) ||
        type->isSpecificBuiltinType(clang::BuiltinType::Double))
        return FLOAT;
    return STRUCT;
}

static std::string number(uint64_t value)
{
    return std::to_string(value) + ", ";
}

static uint64_t size_of(clang::ASTContext &context, clang::QualType type)
{
    return (uint64_t)context.getTypeSizeInChars(type).getQuantity();
}

static uint64_t alignment_of(clang::ASTContext &context, clang::QualType type)
{
    return (uint64_t)context.getTypeAlignInChars(type).getQuantity();
}

// rnl_element of <runnel/base.h>, of what a pointer points to; 0: of no number.
static uint64_t element_of(const clang::ASTContext &context,
                           clang::QualType pointer)
{
    enum { HALF = 9, BFLOAT = 10, FLOAT32 = 11, FLOAT64 = 12 };
    if (kind_of(context, pointer) != POINTER)
        return 0;
    const clang::QualType type =
        context.getBaseElementType(pointer->getPointeeType());
    const clang::CXXRecordDecl *record = type->getAsCXXRecordDecl();
    if (record)  // the prelude's
        return record->getName() == "__half" ? HALF
               : record->getName() == "__nv_bfloat16" ? BFLOAT : 0;
    switch (kind_of(context, type)) {
    case FLOAT:
        return context.getTypeSize(type) == 32 ? FLOAT32 : FLOAT64;
    case INTEGER:  // a pair for each size, signed and unsigned
        return 2 * llvm::Log2_64(context.getTypeSize(type)) - 5 +
               type->isUnsignedIntegerOrEnumerationType();
    default:
        return 0;
    }
}

static std::string parameter(clang::ASTContext &context, clang::QualType type)
{
    const clang::QualType passed =
        type->isReferenceType()
            ? context.getPointerType(type.getNonReferenceType()) : type;
    return "{" + number(kind_of(context, type)) +
           number(size_of(context, passed)) +
           number(alignment_of(context, passed)) +
           number(element_of(context, type)) +
           literal(type.getAsString(policy_of(context))) + "}, ";
}

static uint64_t most_threads(clang::ASTContext &context,
                             const clang::FunctionDecl *kernel)
{
    const auto *bounds = kernel->getAttr<clang::CUDALaunchBoundsAttr>();
    // clang passes attributes of a template on to its instances.
    if (bounds && bounds->isInherited() &&
        kernel->getTemplateSpecializationKind() ==
            clang::TSK_ExplicitSpecialization)
        bounds = nullptr;
    const uint64_t most =
        bounds ? value_of(context, bounds->getMaxThreads()) : 0;
    return most ? most : 1024;
}

static std::string write_cluster(clang::ASTContext &context,
                                 const clang::FunctionDecl *kernel)
{
    std::string text;
    if (const clang::AnnotateAttr *cluster = cluster_of(kernel))
        for (const clang::Expr *extent : cluster->args())
            text += number(value_of(context, extent));
    return text;
}

static std::string symbol_of(clang::ASTContext &context,
                             const clang::FunctionDecl *kernel)
{
    std::unique_ptr<clang::MangleContext> mangler(
        context.createMangleContext());
    std::string symbol;
    llvm::raw_string_ostream stream(symbol);
    if (mangler->shouldMangleDeclName(kernel))
        mangler->mangleName(clang::GlobalDecl(kernel), stream);
    else
        stream << kernel->getName();
    return symbol;
}

static std::string write_kernel(clang::ASTContext &context,
                                const record &record, const std::string &n)
{
    const auto *kernel =
        clang::cast<clang::FunctionDecl>(record.declaration);
    std::string text = "static constexpr auto rnl_function" + n +
                       " = &rnl_kernel" + n +
                       ";\nstatic __device__ constexpr ::rnl_cpu_parameter "
                       "rnl_parameters" + n + "[] = {";
    for (const clang::ParmVarDecl *one : kernel->parameters())
        text += parameter(context, one->getType());
    return text + "{}};\nRNL_SIMT_PARTS(" + n + ")\n";
}

static std::string write_record(clang::ASTContext &context,
                                const record &record, const std::string &n)
{
    const auto *kernel =
        clang::cast<clang::FunctionDecl>(record.declaration);
    return "{" + literal(record.name) + literal(symbol_of(context, kernel)) +
           "rnl_parameters" + n + ", " + number(kernel->getNumParams()) +
           number(most_threads(context, kernel)) +
           "0, 0, RNL_CPU_FORM_THREADS, 0, &::rnl_entry<rnl_function" + n +
           ">, RNL_RUN_BLOCKS(" + n + "), {}, 0, {" +
           write_cluster(context, kernel) + "}, 0},\n";
}

static std::string write_variable(clang::ASTContext &context,
                                  const record &record, const std::string &n)
{
    const auto *variable = clang::cast<clang::VarDecl>(record.declaration);
    clang::QualType type = variable->getType();
    const std::string address =
        record.address.empty() ? "&rnl_variable" + n : record.address;
    return "{" + literal(record.name) + "(void *)(" + address + "), " +
           number(size_of(context, type)) +
           number((uint64_t)context.getDeclAlign(variable).getQuantity()) +
           (is_constant(variable) ? "RNL_CPU_GLOBAL_CONSTANT" : "0") +
           "},\n";
}

// The variable's name in C++ cannot be that of its type.
static std::string write_object(const records &records)
{
    return "extern \"C\" { extern const __device__ rnl_cpu_object rnl_object "
           "__asm__(RNL_CPU_OBJECT_SYMBOL) "
           "__attribute__((visibility(\"default\"))) RNL_FOUND;\n"
           "const __device__ rnl_cpu_object rnl_object = "
           "{RNL_CPU_OBJECT_MAGIC, RNL_CPU_ABI, sizeof(rnl_cpu_object), "
           "sizeof(rnl_cpu_kernel), sizeof(rnl_cpu_parameter), "
           "sizeof(rnl_cpu_global), sizeof(rnl_cpu_block), " +
           literal(std::string("clang ") + clang_version()) + "'F', " +
           number(records.kernels.size()) + number(records.variables.size()) +
           "RNL_OBJECT_FLAGS, rnl_kernels, rnl_globals, 0, 0, "
           "RNL_CPU_DYNAMIC_LIMIT, &rnl_set_services, ::rnl::rnl_processor, "
           "0};}\n";
}

std::string records_write(clang::ASTContext &context, const records &records)
{
    std::string text = own_words;
    text += "#pragma clang force_cuda_host_device begin\n"
            "#pragma clang diagnostic ignored \"-Weverything\"\n";
    std::string kernels, variables;
    for (std::size_t i = 0; i < records.kernels.size(); i++) {
        text += write_kernel(context, records.kernels[i], std::to_string(i));
        kernels += write_record(context, records.kernels[i],
                                std::to_string(i));
    }
    for (std::size_t i = 0; i < records.variables.size(); i++)
        variables += write_variable(context, records.variables[i],
                                    std::to_string(i));
    return text +
           "extern \"C\" { extern const __device__ rnl_cpu_kernel "
           "rnl_kernels[] RNL_FOUND;\n"
           "const __device__ rnl_cpu_kernel rnl_kernels[] = {\n" + kernels +
           "{}};}\nstatic const __device__ rnl_cpu_global rnl_globals[] = {\n" +
           variables + "{}};\n" + write_object(records) +
           "#pragma clang force_cuda_host_device end\n";
}

const clang::ValueDecl *records_declared(const records &records,
                                         llvm::StringRef name)
{
    const bool kernel = name.consume_front("rnl_kernel");
    std::size_t number;
    if ((!kernel && !name.consume_front("rnl_variable")) ||
        name.getAsInteger(10, number))
        return nullptr;
    const std::vector<record> &from =
        kernel ? records.kernels : records.variables;
    return number < from.size() ? from[number].declaration : nullptr;
}
