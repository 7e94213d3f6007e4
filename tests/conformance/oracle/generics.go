//go:build go1.18
// +build go1.18

package main

import "fmt"

func init() {
	ballast = append(ballast, instances)
}

type ordered interface {
	~int | ~uint8 | ~string | ~float64
}

func largest[T ordered](values ...T) (result T) {
	for _, value := range values {
		if value > result {
			result = value
		}
	}
	return result
}

type pair[K ordered, V any] struct {
	key   K
	value V
}

func (p pair[K, V]) String() string { return fmt.Sprint(p.key, p.value) }
func (p *pair[K, V]) Set(value V)   { p.value = value }
func (p *pair[K, V]) After(k K) bool {
	return largest(p.key, k) == p.key && func() bool { return p.key != k }()
}

type list[T any] struct {
	*pair[string, []T]
	rest *list[T]
}

func convert[From, To any](values []From, convert func(From) To) (result []To) {
	for _, value := range values {
		defer func() { result = append(result, convert(value)) }()
	}
	return result
}

func instances() {
	fmt.Println(largest(1, 2), largest("a", "b"), largest(1.5), largest[uint8](1))
	numbers := &pair[int, struct{ A []string }]{}
	words := list[map[string]int]{pair: &pair[string, []map[string]int]{}}
	set, after := numbers.Set, words.After
	set(numbers.value)
	defer words.Set(nil)
	fmt.Println(numbers, words, after("c"), numbers.After(3), fmt.Stringer(words))
	fmt.Println(convert([]int{1}, func(n int) string { return fmt.Sprint(n) }))
	fmt.Println(convert([]string{"a"}, func(s string) [2]byte { return [2]byte{s[0]} }))
}
