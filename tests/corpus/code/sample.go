// Package x does.
package x

import "fmt"

const Max = 3

// Server serves.
type Server struct {
	a int
}

type (
	A int
	B struct{ x int }
)

// Start it.
func (s *Server[T]) Start(x int) error {
	return nil
}

func main() {
	fmt.Println("}")
}

var handlers = map[string]func(){
	"a": func() {},
	"b": func() {},
}
