//go:build go1.12 && !go1.14
// +build go1.12,!go1.14

package main

import "runtime"

// Appends the calls at an address, innermost first. None where there is no Go code. Go 1.12 and
// 1.13 expand inlined calls while they walk a stack, and no address by itself: of those between
// the innermost call and the function they say nothing, and of the function only its name.
func callsAt(pc uintptr, calls []call) []call {
	if only, is := callAlone(pc); is {
		return append(calls, only)
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc + 1}).Next()
	if frame.Entry > pc || frame.PC == 0 && isLastOfText(pc) {
		return append(calls, call{function: notAskable})
	}
	if frame.PC == 0 {
		return calls
	}
	calls = append(calls, call{frame.Function, frame.File, frame.Line})
	if frame.Func != nil {
		return calls
	}
	calls = append(calls, call{function: someCalls})
	outer, _ := runtime.CallersFrames([]uintptr{frame.Entry}).Next()
	if outer.Func == nil || kind(outer.Func) == wrapperKind {
		return calls
	}
	return append(calls, call{function: outer.Function})
}

func isLastOfText(pc uintptr) bool {
	return runtime.FuncForPC(pc) != nil && runtime.FuncForPC(pc+1) == nil
}
