//go:build go1.18 && !go1.20
// +build go1.18,!go1.20

package main

// Go 1.18 and 1.19: nine numbers.
const kindOffset = 9 * 4
