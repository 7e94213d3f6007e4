package main

// #cgo CFLAGS: -O2
// #include "native.h"
import "C"

// Only with cgo. For a C program that loads this one as a library.
//
//export tellFrames
func tellFrames() {
	Tell()
}

//export compareInGo
func compareInGo(a, b C.int) C.int {
	if a < b {
		return -1
	}
	return 1
}

func init() {
	numbers := []C.int{3, 1, 2}
	C.sort_numbers(&numbers[0], C.int(len(numbers)))
	if C.checksum(&numbers[0], C.int(len(numbers))) == 0 || numbers[0] != 1 {
		panic("C code does not work")
	}
}
