package a.b

import x.y

/** doc */
@Ann
class Foo(val a: Int) : Bar() {
    val x = 1
    fun go(): Int {
        return 1
    }

    companion object {
        fun c() {}
    }

    init {
        println("x")
    }
}

object O {
    fun o() {}
}

interface I {
    fun x()
}

fun String.ext(a: Int) = 1

data class D(val x: Int)

enum class E { A, B }

typealias T = Int

val p: Int by lazy { 1 }
