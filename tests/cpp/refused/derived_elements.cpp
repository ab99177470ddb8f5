// expected: no matching
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
struct base {
    int a;
};
struct derived : base {
    int b;
};
void refused(const runnel::stream &s, const runnel::buffer<base> &b,
             const std::vector<derived> &v)
{
    s.copy(b, v);
}
