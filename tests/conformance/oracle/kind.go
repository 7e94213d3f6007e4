//go:build !go1.18
// +build !go1.18

package main

import "unsafe"

// Go 1.15: an address, then seven numbers.
const kindOffset = unsafe.Sizeof(uintptr(0)) + 7*4
