// Hello is a small program to damage: nearly all of it is the runtime.
package main

import "os"

func main() {
	os.Stdout.WriteString("hello\n")
}
