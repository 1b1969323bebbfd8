//! crate doc
use std::fmt;
/// Doc
#[derive(Debug)]
pub struct Foo<T> { a: T }
impl<T> fmt::Display for Foo<T> {
    /// f
    #[inline]
    fn fmt(&self) -> X { }
}
impl Foo<u8> { pub fn new() -> Self { } const A: u8 = 1; }
pub trait Tr { fn a(&self); fn b(&self) {} }
mod tests { use super::*; #[test] fn t() {} }
macro_rules! m { () => {} }
enum E { A }
fn main() { let s = "}"; }
static X: u8 = 1;
