// Operators on types that clang has from 16 on, for <type_traits> before that.
#if __clang_major__ < 16
namespace rnl_types
{
template <class T> struct remove_const {
    typedef T type;
};
template <class T> struct remove_const<const T> {
    typedef T type;
};
template <class T> struct remove_volatile {
    typedef T type;
};
template <class T> struct remove_volatile<volatile T> {
    typedef T type;
};
template <class T> struct remove_cv {
    typedef typename remove_const<typename remove_volatile<T>::type>::type type;
};
template <class T> struct remove_reference {
    typedef T type;
};
template <class T> struct remove_reference<T &> {
    typedef T type;
};
template <class T> struct remove_reference<T &&> {
    typedef T type;
};
template <class T, class = typename remove_cv<T>::type> struct remove_pointer {
    typedef T type;
};
template <class T, class U> struct remove_pointer<T, U *> {
    typedef U type;
};
template <class T> struct remove_extent {
    typedef T type;
};
template <class T> struct remove_extent<T[]> {
    typedef T type;
};
template <class T, size_t N> struct remove_extent<T[N]> {
    typedef T type;
};
// Without regard to functions with qualifiers, which have no pointers.
template <class T> struct add_pointer {
    typedef typename remove_reference<T>::type *type;
};
template <class T, bool = __is_array(T), bool = __is_function(T)>
struct decayed {
    typedef typename remove_cv<T>::type type;
};
template <class T> struct decayed<T, true, false> {
    typedef typename remove_extent<T>::type *type;
};
template <class T> struct decayed<T, false, true> {
    typedef T *type;
};
template <class T> struct decay {
    typedef typename decayed<typename remove_reference<T>::type>::type type;
};
// The type To with the qualifiers of From.
template <class From, class To> struct as_qualified {
    typedef To type;
};
template <class From, class To> struct as_qualified<const From, To> {
    typedef const To type;
};
template <class From, class To> struct as_qualified<volatile From, To> {
    typedef volatile To type;
};
template <class From, class To> struct as_qualified<const volatile From, To> {
    typedef const volatile To type;
};
template <class T, size_t Size = sizeof(T)> struct whole {
    typedef signed char with_sign;
    typedef unsigned char without;
};
template <class T> struct whole<T, 2> {
    typedef short with_sign;
    typedef unsigned short without;
};
template <class T> struct whole<T, 4> {
    typedef int with_sign;
    typedef unsigned int without;
};
template <class T> struct whole<T, 8> {
    typedef long with_sign;
    typedef unsigned long without;
};
template <> struct whole<long long, 8> {
    typedef long long with_sign;
    typedef unsigned long long without;
};
template <> struct whole<unsigned long long, 8> : whole<long long, 8> {
};
template <class T> struct make_signed {
    typedef typename as_qualified<
        T, typename whole<typename remove_cv<T>::type>::with_sign>::type type;
};
template <class T> struct make_unsigned {
    typedef typename as_qualified<
        T, typename whole<typename remove_cv<T>::type>::without>::type type;
};
}  // namespace rnl_types
#define __remove_cv(T) typename rnl_types::remove_cv<T>::type
#define __remove_const(T) typename rnl_types::remove_const<T>::type
#define __remove_volatile(T) typename rnl_types::remove_volatile<T>::type
#define __remove_reference_t(T) typename rnl_types::remove_reference<T>::type
#define __remove_pointer(T) typename rnl_types::remove_pointer<T>::type
#define __remove_extent(T) typename rnl_types::remove_extent<T>::type
#define __add_pointer(T) typename rnl_types::add_pointer<T>::type
#define __decay(T) typename rnl_types::decay<T>::type
#define __make_signed(T) typename rnl_types::make_signed<T>::type
#define __make_unsigned(T) typename rnl_types::make_unsigned<T>::type
#endif
