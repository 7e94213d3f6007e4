// Answers of debug/gosym, the Go project's own reader of function tables, about a Go program:
//
//	judge BINARY PLACES
//
// prints a line for each function, and one for each of about PLACES addresses all over the code,
// each function's first among them, with tabs between the words:
//
//	function ADDRESS NAME
//	place    ADDRESS NAME FILE LINE
//
// NAME is the function that holds the address. debug/gosym knows no inlined calls, so FILE and LINE
// are those of the innermost one; they are empty and 0 where the table has none.
//
// It has to be told where the table and the text begin. Both are found by what they look like,
// without sections and symbols.
package main

import (
	"bufio"
	"debug/gosym"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	places, err := strconv.ParseUint(os.Args[2], 10, 32)
	if err != nil {
		log.Fatal(err)
	}
	p, err := openProgram(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	t, found := findTable(p)
	if !found {
		log.Fatal("no function table")
	}
	sections := []textSection{{0, ^uint64(0), 0}}
	if t.hasOffsets() {
		sections = t.textSections()
	}
	// A text that begins at 0 keeps debug/gosym, which knows one section only, to offsets.
	reader, err := gosym.NewTable(nil, gosym.NewLineTable(t.data, 0))
	if err != nil || len(reader.Funcs) == 0 {
		log.Fatal("debug/gosym cannot read the table: ", err)
	}
	judge(t, sections, reader, places)
}

func judge(t table, sections []textSection, reader *gosym.Table, places uint64) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	first, last := reader.Funcs[0], reader.Funcs[len(reader.Funcs)-1]
	stride := (last.End-first.Entry)/(places+1) | 1 // odd, so as to hit instructions anywhere
	for i, f := range reader.Funcs {
		address := addressOf(sections, f.Entry)
		checkEntry(t.program, f, address)
		fmt.Fprintf(out, "function\t%#x\t%s\n", address, f.Name)
		for pc := f.Entry; pc < f.End; pc += stride {
			file, line, _ := reader.PCToLine(pc)
			// Like the runtime: one of both is no position.
			if line < 0 || t.lacks(pcfileField, i) || t.lacks(pclnField, i) {
				file, line = "", 0
			}
			fmt.Fprintf(out, "place\t%#x\t%s\t%s\t%d\n", address+pc-f.Entry, f.Name, file, line)
		}
	}
}

func addressOf(sections []textSection, pc uint64) uint64 {
	for _, s := range sections {
		if pc >= s.start && pc < s.end {
			return s.address + pc - s.start
		}
	}
	log.Fatalf("offset %#x is in no section of the text", pc)
	return 0
}

// checkEntry makes sure of the start of the text where it can: a program that begins in Go begins
// at a function with this name.
func checkEntry(p *program, f gosym.Func, address uint64) {
	if p.entry-address < f.End-f.Entry && (p.entry != address || !strings.HasPrefix(f.Name, "_rt0_")) {
		log.Fatalf("the program begins at %#x, which is in %s", p.entry, f.Name)
	}
}
