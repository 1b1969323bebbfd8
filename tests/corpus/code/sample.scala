package a.b
import x._
/** doc */
@ann
class Foo(a: Int) extends Bar {
  val x = 1
  def go(): Int = { 1 }
}
object Foo { def apply() = 1 }
trait T { def q: Int }
case class P(x: Int)
def top = 1
enum E { case A }
