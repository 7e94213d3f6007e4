// The judge of Go frames: tells what the runtime of this very program says of addresses in it.
// Reads addresses in hexadecimal, one a line; prints for each a line with the calls at it,
// innermost first, as function, file and line, all separated by tabs.
//
// It pulls in some of the standard library so that there is something to ask about.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	_ "unsafe"
)

// What runtime/pprof uses to expand the inlined calls at the last address of a stack.
//
//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stack []uintptr) []uintptr

func describe(pc uintptr) string {
	// A return address: the runtime looks one before it.
	frames := runtime.CallersFrames(expandFinalInlineFrame([]uintptr{pc + 1}))
	var text strings.Builder
	for {
		frame, more := frames.Next()
		if frame.Function != "" {
			fmt.Fprintf(&text, "\t%s\t%s\t%d", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return text.String()
		}
	}
}

// Never run: code to ask about.
func ballast() {
	json.NewEncoder(os.Stdout).Encode(http.DefaultServeMux)
	http.ListenAndServe("", nil)
	parser.ParseFile(token.NewFileSet(), "", "", 0)
	fmt.Println(regexp.MustCompile("a+").FindAllString("", -1))
	sort.Slice([]int{2, 1}, func(i, j int) bool { return i < j })
	fmt.Println(largest([]int{1}), largest([]string{"a"}))
}

type ordered interface{ ~int | ~string }

func largest[T ordered](values []T) (result T) {
	for _, value := range values {
		if value > result {
			result = value
		}
	}
	return result
}

func main() {
	if len(os.Args) > 1 {
		ballast()
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		pc, err := strconv.ParseUint(in.Text(), 16, 64)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintf(out, "%x%s\n", pc, describe(uintptr(pc)))
	}
}
