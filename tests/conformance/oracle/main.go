// The judge of Go frames: tells what the runtime of this very program says of its own code.
//
// Reads lines `ADDRESS OFFSET SIZE STEP` of hexadecimal numbers: where an executable segment is
// according to the file, and how many bytes to go on from one address asked about to the next.
// Prints the calls at all of these addresses, innermost first, those of neighbours with the same
// answer in one line, tabs between its words:
//
//	FIRST LAST FUNCTION FILE LINE FUNCTION FILE LINE ...
//
// Only FIRST and LAST where no Go code is, and `!` after them where the runtime cannot be asked.
// Addresses are those of the file, without the bias it was loaded with.
//
// A call `...` stands for any calls there, and those after it have only names.
//
// It compiles with Go 1.2; what newer versions add has files of its own.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
)

func main() {
	Tell()
}

// Tell is the program itself, for those that load it as a plugin or a library.
func Tell() {
	if len(os.Args) > 1000 {
		for _, function := range ballast {
			function()
		}
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var start, offset, size, step uintptr
		_, err := fmt.Sscanf(in.Text(), "%x %x %x %x", &start, &offset, &size, &step)
		if err != nil {
			panic(in.Text() + ": " + err.Error())
		}
		tellSegment(out, start, size, step, bias(start, offset))
	}
}

// The bias that is added to the addresses of the file, found from the mapping of this code.
func bias(start, offset uintptr) uintptr {
	self := reflect.ValueOf(Tell).Pointer()
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	defer maps.Close()
	for in := bufio.NewScanner(maps); in.Scan(); {
		var first, limit, position uintptr
		var rights string
		fmt.Sscanf(in.Text(), "%x-%x %s %x", &first, &limit, &rights, &position)
		if first <= self && self < limit {
			return first - position + offset - start
		}
	}
	panic("this code is not mapped")
}

func tellSegment(out *bufio.Writer, start, size, step, bias uintptr) {
	var calls, next []call
	first := start
	for address := start; address-start < size; address += step {
		next = callsAt(address+bias, next[:0])
		if address != start && !equal(calls, next) {
			tellRun(out, first, address-step, calls)
			first = address
		}
		calls, next = next, calls
	}
	tellRun(out, first, start+(size-1)/step*step, calls)
}

func tellRun(out *bufio.Writer, first, last uintptr, calls []call) {
	text := []string{strconv.FormatUint(uint64(first), 16), strconv.FormatUint(uint64(last), 16)}
	for _, call := range calls {
		text = append(text, call.function, call.file, strconv.Itoa(call.line))
	}
	out.WriteString(strings.Join(text, "\t") + "\n")
}
