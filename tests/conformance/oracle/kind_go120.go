//go:build go1.20 && !go1.21
// +build go1.20,!go1.21

package main

// Go 1.20: ten numbers.
const kindOffset = 10 * 4
