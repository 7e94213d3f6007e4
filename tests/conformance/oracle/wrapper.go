//go:build go1.12 && !go1.21
// +build go1.12,!go1.21

package main

import (
	"reflect"
	"runtime"
	"strings"
	"unsafe"
)

// Leaves out the outermost function if it is a wrapper around inlined calls, unless it calls one
// of three that panic: the rule for stacks, runtime.gentraceback in these versions. Only
// expandFinalInlineFrame, which is for profiles, forgot it until Go 1.21 and always keeps the
// function itself.
func withoutWrapper(calls []call, outermost *runtime.Func) []call {
	if len(calls) < 2 || kind(outermost) != wrapperKind {
		return calls
	}
	switch calls[len(calls)-2].function {
	case "runtime.gopanic", "runtime.sigpanic", "runtime.panicwrap":
		return calls
	}
	return calls[:len(calls)-1]
}

// The function id of the runtime's record: what a *runtime.Func really points at.
func kind(function *runtime.Func) uint8 {
	return *(*uint8)(unsafe.Pointer(uintptr(unsafe.Pointer(function)) + kindOffset))
}

type wrapped struct{}

//go:noinline
func (wrapped) method() {}

// Learned from a wrapper that the compiler made: each version numbers the kinds anew.
var wrapperKind = func() uint8 {
	wrapper := runtime.FuncForPC(reflect.ValueOf(wrapped{}.method).Pointer())
	if id := kind(wrapper); id != 0 && strings.HasSuffix(wrapper.Name(), "-fm") {
		return id
	}
	panic("the kind of functions is not where it should be")
}()
