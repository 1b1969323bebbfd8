import Foundation
/// doc
@available(iOS 13, *)
public class Foo: Bar {
    var a = 1
    init() {}
    func go() -> Int { return 1 }
    deinit {}
}
struct S { func m() {} }
extension Foo: P { func e() {} }
protocol P { func q() }
enum E { case a; func x() {} }
func top() {}
actor Ac { func z() {} }
