//go:build go1.12 && !go1.16
// +build go1.12,!go1.16

package main

import "unsafe"

// Go 1.12 to 1.15: an address, then seven numbers.
const kindOffset = unsafe.Sizeof(uintptr(0)) + 7*4
