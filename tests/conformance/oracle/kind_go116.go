//go:build go1.16 && !go1.18
// +build go1.16,!go1.18

package main

import "unsafe"

// Go 1.16 and 1.17: an address, then eight numbers.
const kindOffset = unsafe.Sizeof(uintptr(0)) + 8*4
