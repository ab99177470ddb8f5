// expected: a launch copies its arguments byte by byte
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s, const runnel::function<> &k)
{
    s.launch(k, {{1}, {1}}, std::make_unique<int>(1));
}
