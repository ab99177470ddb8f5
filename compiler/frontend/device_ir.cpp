// Changes the module that clang made for a device so that it runs on the host:
// variables in shared memory become thread-local, and built-in variables are
// read by calls of functions.
#include "frontend/frontend.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

static std::vector<llvm::Use *> uses_of(llvm::GlobalVariable &variable);

// --- Copies per function -----------------------------------------------------

using initializer = llvm::function_ref<void(llvm::IRBuilder<> &,
                                            llvm::AllocaInst *)>;

// Makes a copy of a variable at the start of a function.
static llvm::AllocaInst *copy(const llvm::GlobalVariable &variable,
                              llvm::Function &function, initializer initialize)
{
    llvm::BasicBlock &entry = function.getEntryBlock();
    llvm::IRBuilder<> builder(&entry, entry.getFirstInsertionPt());
    llvm::AllocaInst *copy = builder.CreateAlloca(variable.getValueType());
    copy->setAlignment(variable.getAlign().valueOrOne());
    initialize(builder, copy);
    return copy;
}

// Replaces a variable by a copy in each function that uses it, and erases the
// variable if nothing else uses it.
static void copy_to_users(llvm::GlobalVariable &variable,
                          initializer initialize)
{
    llvm::DenseMap<llvm::Function *, llvm::AllocaInst *> copies;
    for (llvm::Use *use : uses_of(variable)) {
        llvm::Function *function =
            llvm::cast<llvm::Instruction>(use->getUser())->getFunction();
        llvm::AllocaInst *&own = copies[function];
        if (!own)
            own = copy(variable, *function, initialize);
        use->set(own);
    }
    variable.removeDeadConstantUsers();
    if (variable.use_empty())
        variable.eraseFromParent();
}

// Stores a constant part by part.
static void store(llvm::IRBuilder<> &builder, llvm::Constant *value,
                  llvm::Value *address)
{
    if (!llvm::isa<llvm::ConstantAggregate>(value)) {
        builder.CreateStore(value, address);
        return;
    }
    for (unsigned i = 0; i < value->getNumOperands(); i++)
        store(builder, llvm::cast<llvm::Constant>(value->getOperand(i)),
              builder.CreateConstInBoundsGEP2_32(value->getType(), address, 0,
                                                 i));
}

static void copy_constant(llvm::GlobalVariable &constant)
{
    copy_to_users(constant, [&](llvm::IRBuilder<> &builder,
                                llvm::AllocaInst *copy) {
        store(builder, constant.getInitializer(), copy);
    });
}

// The constants of clang's that a value is part of: float *rows[] = {s, t}
// copies one.
static void find_constants(const llvm::Value &value,
                           llvm::SetVector<llvm::GlobalVariable *> &found)
{
    for (const llvm::User *user : value.users()) {
        const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(user);
        if (variable && variable->isConstant() && variable->hasLocalLinkage())
            found.insert(const_cast<llvm::GlobalVariable *>(variable));
        else if (!variable && llvm::isa<llvm::Constant>(user))
            find_constants(*user, found);
    }
}

// The uses of a variable by instructions, after its uses in constants were
// replaced. The address of such a variable differs between threads.
static std::vector<llvm::Use *> uses_of(llvm::GlobalVariable &variable)
{
    llvm::SetVector<llvm::GlobalVariable *> constants;
    find_constants(variable, constants);
    for (llvm::GlobalVariable *constant : constants)
        copy_constant(*constant);
    llvm::convertUsersOfConstantsToInstructions({&variable});
    std::vector<llvm::Use *> uses;
    for (llvm::Use &use : variable.uses())
        if (llvm::isa<llvm::Instruction>(use.getUser()))
            uses.push_back(&use);
    return uses;
}

// Where a value that an instruction uses has to be computed.
static llvm::Instruction *before(const llvm::Use &use)
{
    auto *user = llvm::cast<llvm::Instruction>(use.getUser());
    if (auto *phi = llvm::dyn_cast<llvm::PHINode>(user))
        return phi->getIncomingBlock(use)->getTerminator();
    return user;
}

// --- Shared memory -----------------------------------------------------------

static void refuse(clang::DiagnosticsEngine &diagnostics,
                   clang::SourceLocation place, const char *sentence)
{
    source_report(diagnostics, clang::DiagnosticsEngine::Error, place,
                  sentence);
}

static void share(llvm::GlobalVariable &variable)
{
    std::vector<llvm::Use *> uses = uses_of(variable);
    variable.setThreadLocalMode(llvm::GlobalVariable::GeneralDynamicTLSModel);
    variable.setExternallyInitialized(false);
    if (variable.hasInitializer())
        variable.setInitializer(
            llvm::Constant::getNullValue(variable.getValueType()));
    for (llvm::Use *use : uses)
        use->set(llvm::IRBuilder<>(before(*use))
                     .CreateThreadLocalAddress(&variable));
}

// --- Constant memory ---------------------------------------------------------

static bool is_stored_to(const llvm::Value &address)
{
    for (const llvm::User *user : address.users()) {
        const auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
        if (store ? store->getPointerOperand() == &address
                  : llvm::isa<llvm::GEPOperator>(user) && is_stored_to(*user))
            return true;
    }
    return false;
}

// --- Built-in variables ------------------------------------------------------

// The value of a built-in variable along an axis, where the builder stands.
static llvm::CallInst *call_getter(llvm::IRBuilder<> &builder,
                                   const std::string &name)
{
    llvm::Function &function = *builder.GetInsertBlock()->getParent();
    llvm::Module &module = *function.getParent();
    llvm::Function *get = module.getFunction(name);
    if (!get)
        get = module.getFunction("\01" + name);
    llvm::CallInst *call = builder.CreateCall(get);
    if (llvm::DISubprogram *program = function.getSubprogram())
        call->setDebugLoc(llvm::DILocation::get(
            module.getContext(), program->getLine(), 0, program));
    return call;
}

// Optimisation turns the copies into registers.
static void read_built_in(llvm::Module &module, const char *name,
                          const std::string &getter)
{
    llvm::GlobalVariable *variable =
        module.getGlobalVariable(std::string("\01") + name, true);
    if (!variable)
        variable = module.getGlobalVariable(name, true);
    if (!variable)
        return;
    llvm::Type *type = variable->getValueType();
    copy_to_users(*variable, [&](llvm::IRBuilder<> &builder,
                                 llvm::AllocaInst *copy) {
        for (unsigned axis = 0; axis < 3; axis++)
            builder.CreateStore(
                call_getter(builder, getter + "_" + "xyz"[axis]),
                builder.CreateStructGEP(type, copy, axis));
    });
}

// --- Assembly ----------------------------------------------------------------

// Comments and spaces are none.
static bool is_empty(llvm::StringRef assembly)
{
    while (!assembly.empty()) {
        llvm::StringRef line;
        std::tie(line, assembly) = assembly.split('\n');
        line = line.trim();
        if (!line.empty() && !line.starts_with("#") &&
            !line.starts_with("//"))
            return false;
    }
    return true;
}

static clang::SourceLocation place_of(const llvm::CallBase &call)
{
    const llvm::MDNode *node = call.getMetadata("srcloc");
    const auto *value =
        node && node->getNumOperands() > 0
            ? llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(0))
            : nullptr;
    return value ? clang::SourceLocation::getFromRawEncoding(
                       (unsigned)value->getZExtValue())
                 : clang::SourceLocation();
}

static void refuse_assembly(llvm::Module &module,
                            clang::DiagnosticsEngine &diagnostics)
{
    for (llvm::Function &function : module)
        for (llvm::Instruction &at : llvm::instructions(function)) {
            const auto *call = llvm::dyn_cast<llvm::CallBase>(&at);
            const auto *assembly =
                call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand())
                     : nullptr;
            if (assembly && !is_empty(assembly->getAsmString()))
                refuse(diagnostics, place_of(*call), source_no_assembly);
        }
}

// --- All ---------------------------------------------------------------------

// Kernels and functions belong to this object alone: what no kernel reaches
// goes.
static void drop_unused(llvm::Module &module)
{
    for (llvm::Function &function : module)
        if (!function.isDeclaration() &&
            function.getName().starts_with("_Z")) {
            function.setComdat(nullptr);
            function.setLinkage(llvm::GlobalValue::InternalLinkage);
            function.setVisibility(llvm::GlobalValue::DefaultVisibility);
            function.setDSOLocal(true);
        }
    llvm::ModuleAnalysisManager analyses;
    llvm::GlobalDCEPass().run(module, analyses);
}

static void finish_variable(llvm::GlobalVariable &variable,
                            const clang::Decl *declaration,
                            clang::DiagnosticsEngine &diagnostics)
{
    if (declaration->hasAttr<clang::CUDASharedAttr>())
        share(variable);
    else if (variable.isThreadLocal())
        refuse(diagnostics, declaration->getLocation(),
               "thread_local is not supported in kernels");
    else if (declaration->hasAttr<clang::CUDAConstantAttr>() &&
             is_stored_to(variable))
        refuse(diagnostics, declaration->getLocation(),
               "a __constant__ variable cannot be assigned to");
}

void device_finish(llvm::Module &module, clang::CodeGenerator &generator,
                   clang::DiagnosticsEngine &diagnostics)
{
    read_built_in(module, "rnl_built_in_thread", "rnl_thread");
    read_built_in(module, "rnl_built_in_block", "rnl_block");
    read_built_in(module, "rnl_built_in_block_size", "rnl_block_size");
    read_built_in(module, "rnl_built_in_grid_size", "rnl_grid_size");
    drop_unused(module);
    for (llvm::GlobalVariable &variable : module.globals())
        if (const clang::Decl *declaration =
                generator.GetDeclForMangledName(variable.getName()))
            finish_variable(variable, declaration, diagnostics);
    refuse_assembly(module, diagnostics);
    if (!module.getModuleInlineAsm().empty())
        refuse(diagnostics, clang::SourceLocation(), source_no_assembly);
}
