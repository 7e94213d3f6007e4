// Loads the oracle as a plugin and has it tell of its code.
package main

import (
	"os"
	"plugin"
)

func main() {
	loaded, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	tell, err := loaded.Lookup("Tell")
	if err != nil {
		panic(err)
	}
	tell.(func())()
}
