//go:build go1.27
// +build go1.27

package main

import "fmt"

func init() {
	ballast = append(ballast, genericMethods)
}

// A generic method of a generic type: its name has two lists of types.
func (l *list[T]) into[U any](convert func(T) U) (result []U) {
	for _, value := range l.value {
		defer func() { result = append(result, convert(value)) }()
	}
	return result
}

func genericMethods() {
	words := &list[string]{pair: &pair[string, []string]{}}
	fmt.Println(words.into(func(s string) int { return len(s) }))
	fmt.Println(words.into(func(s string) []byte { return []byte(s) }))
}
