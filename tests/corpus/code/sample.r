f <- function(x) {
  y
  z
}
