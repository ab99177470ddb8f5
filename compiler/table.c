// The text appended to the user's: an entry for each kernel and the table.
#include "tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const struct scan *scan;
    const struct list *expressions;
    struct list *names;   // of the records, for people
    struct text *text;
    size_t kernel_count;  // records written
    size_t global_count;
    struct list kernels;  // qualified names of the records
    struct list globals;
};

// Opens the namespaces of `scope` and returns how many.
static int open_scope(struct text *text, const char *scope)
{
    int depth = 0;
    while (*scope) {
        size_t size = strcspn(scope, ":");
        if (size == 1 && *scope == '-')
            text_add(text, "namespace { ");
        else
            text_format(text, "namespace %.*s { ",
                        (int)(size - (*scope == '+')), scope + (*scope == '+'));
        depth++;
        scope += size;
        scope += strspn(scope, ":");
    }
    return depth;
}

static void close_scope(struct text *text, int depth)
{
    while (depth-- > 0)
        text_add(text, "}");
    text_add(text, "\n");
}

// "a::b::" as people write it: unnamed and inline namespaces leave no trace.
static void add_scope(struct text *text, const char *scope)
{
    while (*scope) {
        size_t size = strcspn(scope, ":");
        if (*scope != '-' && *scope != '+')
            text_format(text, "%.*s::", (int)size, scope);
        scope += size;
        scope += strspn(scope, ":");
    }
}

static void list_qualified(struct list *list, const char *scope,
                           const char *prefix, size_t number)
{
    struct text name = {0};
    text_add(&name, "::");
    add_scope(&name, scope);
    text_format(&name, "%s%zu", prefix, number);
    list_add(list, name.data);
    text_free(&name);
}

// --- Kernels ---------------------------------------------------------------

// By another kernel, or by functions of the prelude.
static bool is_overloaded(const struct scan *scan,
                          const struct scan_kernel *kernel)
{
    int same = 0;
    for (size_t i = 0; i < scan->kernel_count; i++)
        same += strcmp(scan->kernels[i].name, kernel->name) == 0 &&
                strcmp(scan->kernels[i].scope, kernel->scope) == 0;
    return same > 1 || own_is_of_prelude(kernel->name);
}

// An expression for the kernel, inside its namespace.
static void add_address(struct text *text, const struct scan *scan,
                        const struct scan_kernel *kernel)
{
    if (!is_overloaded(scan, kernel)) {
        text_format(text, "&%s", kernel->name);
        return;
    }
    text_add(text, "static_cast<void (*)(");
    for (size_t i = 0; i < kernel->types.count; i++)
        text_format(text, "%s%s", i ? ", " : "", kernel->types.items[i]);
    text_format(text, ")>(&%s)", kernel->name);
}

static void add_types(struct text *text, size_t number,
                      const struct list *types)
{
    text_format(text, "static constexpr const char *rnl_types%zu[] = {",
                number);
    for (size_t i = 0; i < types->count; i++) {
        text_add_literal(text, types->items[i]);
        text_add(text, ", ");
    }
    text_add(text, "nullptr}; ");
}

// The record of kernel number n, whose function is the constant
// rnl_function<n>.
static void add_record(struct writer *w, const char *scope, const char *name,
                       const char *bounds, const char *cluster)
{
    struct text *text = w->text;
    size_t n = w->kernel_count++;
    bool clustered = cluster && *cluster;
    text_format(text, "RNL_CHECK(%zu, ", n);
    text_add_literal(text, name);
    text_format(text,
                ") static constexpr auto rnl_parameters%zu = "
                "::rnl::rnl_parameters_of<rnl_function%zu>(rnl_types%zu); "
                "RNL_SIMT_PARTS(%zu) ", n, n, n, n);
    if (clustered)
        text_format(text, "RNL_CLUSTER(%zu, %s) ", n, cluster);
    text_format(text, "static constexpr ::rnl_cpu_kernel rnl_kernel%zu = {", n);
    text_add_literal(text, name);
    text_format(text,
                ", ::rnl_symbols[%zu], rnl_parameters%zu.rnl_items, "
                "::rnl::rnl_arity_of(rnl_function%zu), "
                "static_cast<unsigned>(%s), 0, 0, RNL_CPU_FORM_THREADS, 0, "
                "&::rnl_entry<rnl_function%zu>, RNL_RUN_BLOCKS(%zu)",
                n, n, n, bounds && *bounds ? bounds : "1024", n, n);
    if (clustered)
        text_format(text, ", {}, 0, RNL_CLUSTER_OF(%zu), 0", n);
    text_add(text, "}; ");
    list_add(w->names, name);
    list_qualified(&w->kernels, scope, "rnl_kernel", n);
}

// Whether a name is one of the words of an expression.
static bool has_name(const char *expression, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = expression; (at = strstr(at, name)); at++)
        if ((at == expression || !token_has(at[-1])) && !token_has(at[size]))
            return true;
    return false;
}

static bool is_full_name(const char *scope, const char *name,
                         const char *full_name)
{
    struct text full = {0};
    add_scope(&full, scope);
    text_add(&full, name);
    bool same = strcmp(full.data, full_name) == 0;
    text_free(&full);
    return same;
}

// The variable of which "&a::v" is the address; NULL if there is none.
static const struct scan_global *find_global(const struct scan *scan,
                                             const char *expression)
{
    const char *name = expression + strspn(expression, "&: ");
    for (size_t i = 0; i < scan->global_count; i++)
        if (is_full_name(scan->globals[i].scope, scan->globals[i].name, name))
            return &scan->globals[i];
    return NULL;
}

// Any other expression names a variable, and so does "&k" if it is the k of
// another namespace that is a kernel.
static bool names_kernel(const struct scan *scan, const char *expression)
{
    if (find_global(scan, expression))
        return false;
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (has_name(expression, scan->kernels[i].name))
            return true;
    return false;
}

// The template that an expression such as "ns::k<float>" names, or NULL.
static const struct scan_kernel *find_template(const struct scan *scan,
                                               const char *expression)
{
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (scan->kernels[i].is_template &&
            has_name(expression, scan->kernels[i].name))
            return &scan->kernels[i];
    return NULL;
}

// Its launch bounds, if they are a plain number.
static const char *template_bounds(const struct scan *scan,
                                   const char *expression)
{
    const struct scan_kernel *kernel = find_template(scan, expression);
    const char *bounds = kernel ? kernel->bounds : NULL;
    return bounds && strspn(bounds, "0123456789") == strlen(bounds) ? bounds
                                                                     : NULL;
}

// The __cluster_dims__ of the template that an expression names. Its arguments
// may only use what is visible at file scope.
static const char *template_cluster(const struct scan *scan,
                                    const char *expression)
{
    const struct scan_kernel *kernel = find_template(scan, expression);
    return kernel ? kernel->cluster : NULL;
}

static void add_kernel(struct writer *w, const struct scan_kernel *kernel)
{
    struct text *text = w->text;
    int depth = open_scope(text, kernel->scope);
    text_format(text, "static constexpr auto rnl_function%zu = ",
                w->kernel_count);
    add_address(text, w->scan, kernel);
    text_add(text, "; ");
    add_types(text, w->kernel_count, &kernel->types);
    struct text name = {0};
    add_scope(&name, kernel->scope);
    text_add(&name, kernel->name);
    add_record(w, kernel->scope, name.data,
               kernel->bounds ? kernel->bounds
                              : template_bounds(w->scan, kernel->name),
               kernel->cluster ? kernel->cluster
                               : template_cluster(w->scan, kernel->name));
    text_free(&name);
    close_scope(text, depth);
}

bool table_has_name(const struct scan_kernel *kernel, const char *name)
{
    return is_full_name(kernel->scope, kernel->name, name);
}

static bool is_scanned(const struct scan *scan, const char *expression)
{
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (!scan->kernels[i].is_template &&
            table_has_name(&scan->kernels[i], expression))
            return true;
    return false;
}

// Errors in an expression are the user's: they get a file name of their own.
static void add_expression(struct writer *w, const char *expression)
{
    if (is_scanned(w->scan, expression))
        return;
    text_format(w->text,
                "#line 1 \"" CC_EXPRESSION_FILE "\"\n"
                "static constexpr auto rnl_function%zu = %s;\n"
                "#line %zu \"" CC_RECORDS_FILE "\"\n",
                w->kernel_count, expression, w->kernel_count + 1);
    text_format(w->text,
                "static constexpr const char *const *rnl_types%zu = "
                "nullptr; ", w->kernel_count);
    add_record(w, "", expression, template_bounds(w->scan, expression),
               template_cluster(w->scan, expression));
    text_add(w->text, "\n");
}

const char *table_place(const struct scan *scan, const struct list *expressions,
                        size_t record)
{
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (!scan->kernels[i].is_template && record-- == 0)
            return scan->kernels[i].at;
    for (size_t i = 0; i < expressions->count; i++)
        if (names_kernel(scan, expressions->items[i]) &&
            !is_scanned(scan, expressions->items[i]) && record-- == 0) {
            const struct scan_kernel *kernel =
                find_template(scan, expressions->items[i]);
            return kernel ? kernel->at : NULL;
        }
    return NULL;
}

// --- Variables -------------------------------------------------------------

// The record of the variable that `address` points to.
static void add_variable(struct writer *w, const char *scope, const char *name,
                         const char *address, bool constant)
{
    struct text *text = w->text;
    size_t n = w->global_count++;
    text_format(text,
                "static constexpr auto rnl_global%zu = ::rnl::rnl_global_of(",
                n);
    text_add_literal(text, name);
    text_format(text,
                ", %s, %s);",
                address, constant ? "RNL_CPU_GLOBAL_CONSTANT" : "0");
    list_qualified(&w->globals, scope, "rnl_global", n);
}

static void add_global(struct writer *w, const struct scan_global *global)
{
    struct text name = {0}, address = {0};
    int depth = open_scope(w->text, global->scope);
    add_scope(&name, global->scope);
    text_add(&name, global->name);
    text_format(&address, "&%s", global->name);
    add_variable(w, global->scope, name.data, address.data, global->constant);
    text_free(&name);
    text_free(&address);
    close_scope(w->text, depth);
}

static bool names_constant(const struct scan *scan, const char *expression)
{
    const struct scan_global *found = find_global(scan, expression);
    for (size_t i = 0; i < scan->global_count && !found; i++)
        if (has_name(expression, scan->globals[i].name))
            found = &scan->globals[i];
    return found && found->constant;
}

// "&table<int>" or "&a::v".
static void add_named_variable(struct writer *w, const char *expression)
{
    struct text address = {0};
    text_format(&address, "rnl_variable%zu", w->global_count);
    text_format(w->text,
                "#line 1 \"" CC_EXPRESSION_FILE "\"\n"
                "static constexpr auto %s = %s;\n"
                "static_assert(::rnl::rnl_is_variable_at(%s), \"a name "
                "expression names a kernel or a variable\");\n",
                address.data, expression, address.data);
    add_variable(w, "", expression, address.data,
                 names_constant(w->scan, expression));
    text_add(w->text, "\n#line 1 \"" CC_TABLE_FILE "\"\n");
    text_free(&address);
}

// --- The table -------------------------------------------------------------

// Never empty.
static void add_items(struct text *text, const struct list *items)
{
    for (size_t i = 0; i < items->count; i++)
        text_format(text, "%s,\n", items->items[i]);
    text_add(text, "{}};\n");
}

static void add_table(struct writer *w, const char *compiler)
{
    struct text *text = w->text;
    text_add(text, "extern \"C\" { extern const rnl_cpu_kernel rnl_kernels[] "
                   "RNL_FOUND;\nconst rnl_cpu_kernel rnl_kernels[] = {\n");
    add_items(text, &w->kernels);
    text_add(text, "}\nstatic constexpr rnl_cpu_global rnl_declared[] = {\n");
    add_items(text, &w->globals);
    text_add(text, "static constexpr auto rnl_globals = "
                   "::rnl::rnl_variables_of(rnl_declared);\n");
    // The variable's name in C++ cannot be that of its type.
    text_add(text,
             "extern \"C\" { extern const rnl_cpu_object rnl_object "
             "__asm__(RNL_CPU_OBJECT_SYMBOL) "
             "__attribute__((visibility(\"default\"))) RNL_FOUND;\n"
             "const rnl_cpu_object rnl_object = "
             "{RNL_CPU_OBJECT_MAGIC, RNL_CPU_ABI, sizeof(rnl_cpu_object), "
             "sizeof(rnl_cpu_kernel), sizeof(rnl_cpu_parameter), "
             "sizeof(rnl_cpu_global), sizeof(rnl_cpu_block), ");
    text_add_literal(text, compiler);
    text_format(text,
                ", 'F', %zu, rnl_globals.rnl_count, RNL_OBJECT_FLAGS, "
                "rnl_kernels, rnl_globals.rnl_items, "
                "0, 0, RNL_CPU_DYNAMIC_LIMIT, &rnl_set_services, "
                "::rnl::rnl_processor, 0};}\n",
                w->kernel_count);
}

void table_write(const struct scan *scan, const struct list *expressions,
                 const char *compiler, struct list *names, struct text *text)
{
    struct writer w = {.scan = scan, .expressions = expressions,
                       .names = names, .text = text};
    size_t count = scan->kernel_count + expressions->count + 1;
    // The name of each kernel in the binary; written after linking, so it must
    // not be all zeros, which would leave it without room in the file.
    text_format(text,
                "\n#line 1 \"" CC_TABLE_FILE "\"\n"
                "#pragma clang diagnostic ignored \"-Weverything\"\n"
                "extern \"C\" { extern const char rnl_symbols[%zu][%d] "
                "RNL_FOUND;\n"
                "const char rnl_symbols[%zu][%d] = {{1}};}\n",
                count, RNL_CPU_SYMBOL_SIZE, count, RNL_CPU_SYMBOL_SIZE);
    text_add(text, "#line 1 \"" CC_RECORDS_FILE "\"\n");
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (!scan->kernels[i].is_template)
            add_kernel(&w, &scan->kernels[i]);
    for (size_t i = 0; i < expressions->count; i++)
        if (names_kernel(scan, expressions->items[i]))
            add_expression(&w, expressions->items[i]);
    text_add(text, "#line 1 \"" CC_TABLE_FILE "\"\n");
    for (size_t i = 0; i < expressions->count; i++)
        if (!names_kernel(scan, expressions->items[i]))
            add_named_variable(&w, expressions->items[i]);
    for (size_t i = 0; i < scan->global_count; i++)
        if (!scan->globals[i].is_template)
            add_global(&w, &scan->globals[i]);
    add_table(&w, compiler);
    list_free(&w.kernels);
    list_free(&w.globals);
}
