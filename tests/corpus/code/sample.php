<html>
<?php
namespace A\B;
use X;
/** doc */
#[Attr]
class Foo extends Bar {
  private $x;
  public function go(): int { return 1; }
}
function f() { }
interface I { function q(); }
trait T { function w() {} }
enum E { case A; }
?>
<b>x</b>
