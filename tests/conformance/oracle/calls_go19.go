//go:build go1.9 && !go1.12
// +build go1.9,!go1.12

package main

import "runtime"

// Appends the calls at an address, innermost first. None where there is no Go code. Go 1.9 to 1.11
// take any address for that of a stack, and expand the inlined calls there.
func callsAt(pc uintptr, calls []call) []call {
	if only, is := callAlone(pc); is {
		return append(calls, only)
	}
	frames := runtime.CallersFrames([]uintptr{pc + 1})
	for {
		frame, more := frames.Next()
		if frame.Entry > pc || frame.PC == 0 && len(calls) == 0 && isLastOfText(pc) {
			return append(calls, call{function: notAskable})
		}
		if frame.PC != 0 {
			calls = append(calls, call{frame.Function, frame.File, frame.Line})
		}
		if !more {
			return calls
		}
	}
}

func isLastOfText(pc uintptr) bool {
	return runtime.FuncForPC(pc) != nil && runtime.FuncForPC(pc+1) == nil
}
