using System;
namespace A.B {
  /// <summary>x</summary>
  [Attr]
  public class Foo : Bar {
    public int P { get; set; }
    public Foo() {}
    [HttpGet]
    public async Task<int> Go() => 1;
    enum Q { A }
  }
  interface I { void X(); }
  public record R(int A);
  struct S { void M() {} }
  delegate void D();
}
