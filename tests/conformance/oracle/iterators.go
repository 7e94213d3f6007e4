//go:build go1.23
// +build go1.23

package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

func init() {
	ballast = append(ballast, rangeOverFunctions)
}

func rangeOverFunctions() {
	for n := range upTo(10) {
		defer fmt.Println(n)
		for word, count := range maps.All(map[string]int{"a": n}) {
			if count > 5 {
				return
			}
			fmt.Println(word)
		}
	}
	next, stop := iter.Pull(upTo(3))
	defer stop()
	fmt.Println(next())
	fmt.Println(slices.Sorted(upTo(5)))
}

func upTo[N ~int](limit N) iter.Seq[N] {
	return func(yield func(N) bool) {
		for n := N(0); n < limit && yield(n); n++ {
		}
	}
}
