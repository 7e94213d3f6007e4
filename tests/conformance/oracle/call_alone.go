//go:build go1.15
// +build go1.15

package main

// There is always asking for inlined calls.
func callAlone(pc uintptr) (call, bool) {
	return call{}, false
}
