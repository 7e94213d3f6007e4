//go:build !go1.9
// +build !go1.9

package main

import "runtime"

// Appends the function at an address; none where there is no Go code. Before Go 1.9 nothing says
// which calls were inlined.
func callsAt(pc uintptr, calls []call) []call {
	function := runtime.FuncForPC(pc)
	if function == nil {
		return calls
	}
	file, line := function.FileLine(pc)
	return append(calls, call{function.Name(), file, line})
}
