#include <x>
namespace a::b {
template <typename T>
class Foo : public Bar {
public:
  Foo() : x(1) {}
  ~Foo();
  int go() const { return 1; }
  bool operator==(const Foo&) const { return true; }
private:
  int x;
};
void Foo::out(int a) { }
std::vector<int> free_fn() { return {}; }
}
extern "C" { int cfn() { return 1; } }
template<class T> T tf(T a) { return a; }
struct S { int a; void m() {} };
enum class En { A };
