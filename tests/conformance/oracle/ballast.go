package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
)

// Code to ask about, never run: each sort of function that the compiler makes by itself, and some
// of the standard library.
var ballast = []func(){embedding, deferring, closures}

// Methods of embedded types are wrapped, and mostly inlined in the wrapper.
type inner struct{ values []int }

func (in inner) Len() int            { return len(in.values) }
func (in inner) Less(i, j int) bool  { return in.values[i] < in.values[j] }
func (in *inner) Swap(i, j int)      { in.values[i], in.values[j] = in.values[j], in.values[i] }
func (in *inner) Large(n int) string { return fmt.Sprint(strings.Repeat("a", n), in.values) }

type middle struct {
	*inner
	sync.Mutex
}

type outer struct {
	name string
	middle
	fmt.Stringer
}

// Equality and hash are functions of the compiler's.
type key struct {
	name  string
	point [3]interface{}
	small struct{ a, b float64 }
}

type larger interface{ Large(int) string }

func embedding() {
	thing := &outer{middle: middle{inner: &inner{}}}
	sort.Sort(thing)
	sort.Sort(thing.middle)
	for _, value := range []interface{}{thing, *thing, &thing.middle, thing.middle} {
		fmt.Println(value.(larger).Large(1), value.(fmt.Stringer).String())
	}
	large, less, unlock := thing.Large, (*outer).Less, thing.Unlock
	unlock()
	fmt.Println(large(2), less(thing, 0, 1), fmt.Stringer.String(thing))
	fmt.Println(map[key]int{}, map[[3]key]string{}, key{} == key{name: "a"})
}

var problem error

func deferring() {
	var lock sync.Mutex
	lock.Lock()
	defer lock.Unlock()
	thing := &outer{}
	defer thing.Large(3)
	go thing.Swap(0, 1)
	go fmt.Println("later")
	for i := 0; i < 10; i++ {
		defer func(n int) {
			if reason := recover(); reason != nil {
				problem = fmt.Errorf("%v, %d", reason, n)
			}
		}(i)
	}
	problem = json.NewEncoder(os.Stdout).Encode(thing)
}

func closures() {
	total := 0
	add := func(n int) func() int {
		return func() int { total += n; return func() int { return total * n }() }
	}
	fmt.Println(add(1)(), add(2)(), add(len(os.Args))())
}
