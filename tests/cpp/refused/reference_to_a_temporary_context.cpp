// expected: deleted
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused()
{
    runnel::context_ref c = runnel::context::open();
    (void)c;
}
