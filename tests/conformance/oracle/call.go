package main

// Answers in place of calls: that there is no asking here, or that there are calls of which
// nothing is known.
const (
	notAskable = "!"
	someCalls  = "..."
)

type call struct {
	function, file string
	line           int
}

func equal(a, b []call) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
