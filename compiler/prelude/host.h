// Names of the standard library that host code beside kernels is declared with.
// Bodies of host functions are not read, so the names may be of any class:
// these classes can be made of anything.
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
template <class T> rnl_host<> begin(T &&);
template <class T> rnl_host<> end(T &&);
namespace chrono {
template <class... T> struct duration : rnl_host<T...> {
    using rnl_host<T...>::rnl_host;
};
template <class... T> struct time_point : rnl_host<T...> {
    using rnl_host<T...>::rnl_host;
};
typedef duration<> nanoseconds, microseconds, milliseconds, seconds;
#define RNL_HOST_CLOCK(name)                      \
    struct name {                                 \
        typedef chrono::duration<> duration;      \
        typedef chrono::time_point<> time_point;  \
        static time_point now();                  \
    };
RNL_HOST_CLOCK(steady_clock)
RNL_HOST_CLOCK(system_clock)
RNL_HOST_CLOCK(high_resolution_clock)
#undef RNL_HOST_CLOCK
} // namespace chrono
} // namespace std
#undef RNL_HOST_TEMPLATE
#undef RNL_HOST_CLASS
#undef RNL_HOST_EXCEPTION
// Handles of CUDA's libraries, and of other libraries of CUDA programs.
#define RNL_HOST_HANDLE(name) typedef struct rnl_##name *name;
RNL_HOST_HANDLE(cublasHandle_t)
RNL_HOST_HANDLE(cublasLtHandle_t)
RNL_HOST_HANDLE(cublasLtMatmulDesc_t)
RNL_HOST_HANDLE(cublasLtMatmulPreference_t)
RNL_HOST_HANDLE(cublasLtMatrixLayout_t)
RNL_HOST_HANDLE(cusolverDnHandle_t)
RNL_HOST_HANDLE(cusparseHandle_t)
RNL_HOST_HANDLE(cusparseMatDescr_t)
RNL_HOST_HANDLE(curandGenerator_t)
RNL_HOST_HANDLE(cudnnHandle_t)
RNL_HOST_HANDLE(ncclComm_t)
#undef RNL_HOST_HANDLE
#define RNL_HOST_NUMBER(name) enum name : int {};
RNL_HOST_NUMBER(cublasStatus_t)
RNL_HOST_NUMBER(cublasOperation_t)
RNL_HOST_NUMBER(cublasComputeType_t)
RNL_HOST_NUMBER(cudaDataType_t)
RNL_HOST_NUMBER(cudnnStatus_t)
RNL_HOST_NUMBER(cufftResult)
RNL_HOST_NUMBER(cufftType)
RNL_HOST_NUMBER(curandStatus_t)
RNL_HOST_NUMBER(cusolverStatus_t)
RNL_HOST_NUMBER(cusparseStatus_t)
RNL_HOST_NUMBER(cusparseOperation_t)
RNL_HOST_NUMBER(ncclResult_t)
#undef RNL_HOST_NUMBER
typedef cudaDataType_t cudaDataType;
typedef cufftResult cufftResult_t;
typedef curandStatus_t curandStatus;
typedef int cufftHandle, MPI_Comm;
struct option {
    const char *name;
    int has_arg, *flag, val;
};
enum { no_argument, required_argument, optional_argument };
struct timespec {
    long tv_sec, tv_nsec;
};
struct timeval {
    long tv_sec, tv_usec;
};
#pragma clang force_cuda_host_device begin
