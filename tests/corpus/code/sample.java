package com.x;
import java.util.*;
/** Doc */
@Service
public class Foo extends Bar {
    private int a = 1; // tail
    /** ctor */
    public Foo() { }
    @Override
    public String go(int x) { return "}"; }
    enum Color { RED; void f() {} }
    static class Inner { void m() {} }
}
interface I { void x(); default int y() { return 1; } }
record P(int x) {}
@interface Ann { int v(); }
