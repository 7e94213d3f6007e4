//go:build go1.21
// +build go1.21

package main

import "runtime"

// From Go 1.21 on, the runtime has left out the wrappers already.
func withoutWrapper(calls []call, outermost *runtime.Func) []call {
	return calls
}
