// Names of the standard library that host code beside kernels is declared with.
// What host functions do is not read, so that they may be of any class: these
// can be made of anything.
typedef struct rnl_file FILE;
#pragma clang force_cuda_host_device end
namespace std {
template <class... T> struct rnl_host {
    template <class... A> rnl_host(A &&...);
    rnl_host(std::initializer_list<rnl_host>);
    typedef rnl_host value_type, iterator, const_iterator;
    typedef size_t size_type;
};
#define RNL_HOST_TEMPLATE(name)                                             \
    template <class... T> struct name {                                     \
        template <class... A> name(A &&...);                                \
        template <class U> name(std::initializer_list<U>);                  \
        typedef rnl_host<T...> value_type, iterator, const_iterator, type;  \
        typedef size_t size_type;                                           \
    };
#define RNL_HOST_CLASS(name)                                                \
    struct name {                                                           \
        template <class... A> name(A &&...);                                \
        typedef rnl_host<> iterator, const_iterator;                        \
        typedef size_t size_type;                                           \
        static constexpr size_t npos = ~(size_t)0;                          \
    };
RNL_HOST_TEMPLATE(vector)
RNL_HOST_TEMPLATE(deque)
RNL_HOST_TEMPLATE(list)
RNL_HOST_TEMPLATE(map)
RNL_HOST_TEMPLATE(multimap)
RNL_HOST_TEMPLATE(set)
RNL_HOST_TEMPLATE(multiset)
RNL_HOST_TEMPLATE(unordered_map)
RNL_HOST_TEMPLATE(unordered_set)
RNL_HOST_TEMPLATE(queue)
RNL_HOST_TEMPLATE(priority_queue)
RNL_HOST_TEMPLATE(stack)
RNL_HOST_TEMPLATE(pair)
RNL_HOST_TEMPLATE(tuple)
RNL_HOST_TEMPLATE(complex)
RNL_HOST_TEMPLATE(optional)
RNL_HOST_TEMPLATE(variant)
RNL_HOST_TEMPLATE(function)
RNL_HOST_TEMPLATE(shared_ptr)
RNL_HOST_TEMPLATE(unique_ptr)
RNL_HOST_TEMPLATE(weak_ptr)
RNL_HOST_TEMPLATE(future)
RNL_HOST_TEMPLATE(atomic)
RNL_HOST_TEMPLATE(hash)
RNL_HOST_TEMPLATE(allocator)
RNL_HOST_TEMPLATE(uniform_real_distribution)
RNL_HOST_TEMPLATE(uniform_int_distribution)
RNL_HOST_TEMPLATE(normal_distribution)
template <class T, size_t N> struct array {
    T elements[N];
};
RNL_HOST_CLASS(string)
RNL_HOST_CLASS(string_view)
RNL_HOST_CLASS(thread)
RNL_HOST_CLASS(mutex)
RNL_HOST_CLASS(condition_variable)
RNL_HOST_CLASS(mt19937)
RNL_HOST_CLASS(mt19937_64)
RNL_HOST_CLASS(default_random_engine)
RNL_HOST_CLASS(random_device)
RNL_HOST_CLASS(ios)
RNL_HOST_CLASS(istream)
RNL_HOST_CLASS(ostream)
RNL_HOST_CLASS(ifstream)
RNL_HOST_CLASS(ofstream)
RNL_HOST_CLASS(fstream)
RNL_HOST_CLASS(stringstream)
RNL_HOST_CLASS(ostringstream)
RNL_HOST_CLASS(istringstream)
struct exception {
    exception();
    virtual ~exception();
    virtual const char *what() const noexcept;
};
#define RNL_HOST_EXCEPTION(name)                                            \
    struct name : exception {                                               \
        explicit name(const string &);                                      \
        explicit name(const char *);                                        \
    };
RNL_HOST_EXCEPTION(runtime_error)
RNL_HOST_EXCEPTION(logic_error)
RNL_HOST_EXCEPTION(invalid_argument)
RNL_HOST_EXCEPTION(out_of_range)
extern istream cin;
extern ostream cout, cerr, clog, endl, flush, fixed, setw, setprecision;
namespace chrono {
template <class... T> struct duration : rnl_host<T...> {};
template <class... T> struct time_point : rnl_host<T...> {};
struct steady_clock : rnl_host<> {};
struct system_clock : rnl_host<> {};
struct high_resolution_clock : rnl_host<> {};
} // namespace chrono
} // namespace std
#undef RNL_HOST_TEMPLATE
#undef RNL_HOST_CLASS
#undef RNL_HOST_EXCEPTION
#pragma clang force_cuda_host_device begin
