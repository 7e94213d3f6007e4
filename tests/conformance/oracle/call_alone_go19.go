//go:build go1.9 && !go1.15
// +build go1.9,!go1.15

package main

import "runtime"

// The call at an address of whose inlined calls there is no asking: behind the code of a function,
// where the tables of Go 1.14 and before end and the runtime ends the program; and, up to Go 1.11,
// in the function whose addresses the runtime takes for numbers of calls to skip.
func callAlone(pc uintptr) (call, bool) {
	function := runtime.FuncForPC(pc)
	if function == nil {
		return call{}, false
	}
	file, line := function.FileLine(pc)
	next := runtime.FuncForPC(pc + 1)
	isNumber := next != nil && next.Name() == "runtime.skipPleaseUseCallersFrames"
	return call{function.Name(), file, line}, file == "?" && line == 0 || isNumber
}
