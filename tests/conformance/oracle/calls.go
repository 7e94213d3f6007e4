//go:build go1.14
// +build go1.14

package main

import (
	"runtime"
	_ "unsafe" // go:linkname
)

// The function by which runtime/pprof expands the inlined calls at the last address of a stack.
//
//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stack []uintptr) []uintptr

// Appends the calls at an address, innermost first. None where there is no Go code.
func callsAt(pc uintptr, calls []call) []call {
	if only, is := callAlone(pc); is {
		return append(calls, only)
	}
	// The runtime takes what it is given for a return address and looks one before it. But where a
	// function begins it does not: of the last byte before that there is no asking.
	stack := [64]uintptr{pc + 1}
	frames := runtime.CallersFrames(expandFinalInlineFrame(stack[:1]))
	frame, more := frames.Next()
	if frame.Entry > pc || frame.PC == 0 && isLastOfText(pc) {
		return append(calls, call{function: notAskable})
	}
	if frame.PC == 0 {
		return calls
	}
	for ; ; frame, more = frames.Next() {
		calls = append(calls, call{frame.Function, frame.File, frame.Line})
		if !more {
			return withoutWrapper(calls, frame.Func)
		}
	}
}

func isLastOfText(pc uintptr) bool {
	return runtime.FuncForPC(pc) != nil && runtime.FuncForPC(pc+1) == nil
}
