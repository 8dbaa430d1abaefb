package onceward_test

import (
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/queue"
)

// What is wrong with an argument is said with its field.
func ExampleError() {
	err := queue.Spec{Name: "jobs", MaxReceives: new(0)}.Check()
	if e, ok := errors.AsType[*onceward.Error](err); ok {
		fmt.Println(e.Code, e.Field)
		fmt.Println(e.Message)
	}
	// Output:
	// INVALID_ARGUMENT /max_receive_count
	// max_receive_count is 0; it must be 1 to 1000
}
