An address inside inlined calls of a stripped Go program: the innermost call first, as the program
was written, with the callers indented.

  $ gosym inspect --functions demo-stripped | grep ' main\.main '
  0000000000482660      158 main.main demo/main.go:33

  $ gosym resolve demo-stripped 0x4826f6
  0x4826f6 main.processRequest demo/main.go:30
    (inlined by) main.main demo/main.go:41

The same without the callers, and as JSON.

  $ gosym resolve --no-inlines demo-stripped 0x4826f6
  0x4826f6 main.main demo/main.go:41

  $ gosym resolve --json demo-stripped 0x4826f6
  {"address":"0x4826f6","frames":[{"function":"main.processRequest","file":"demo/main.go","line":30,"inlined":true,"source":"pclntab"},{"function":"main.main","file":"demo/main.go","line":41,"inlined":false,"source":"pclntab"}]}

Symbols or not make no difference.

  $ diff <(gosym resolve demo 4826f6) <(gosym resolve demo-stripped 4826f6)

Addresses come one a line on standard input when none is given; answers keep their order.

  $ printf '401126\n0x401130\n401155\n' | gosym resolve fib
  0x401126 fibNaive
  0x401130 fibNaive
  0x401155 main

No answer is an answer, with its reason.

  $ gosym resolve fib-stripped 401126 1
  0x401126 ?? (no symbols in this file)
  0x1 ?? (not in a code segment)

  $ gosym resolve --json fib-stripped 401126
  {"address":"0x401126","frames":[],"reason":"no symbols in this file"}

What is no address is an error, after the answers before it.

  $ gosym resolve fib 401126 main
  gosym: error: 'main' is not a hexadecimal address
  [2]

  $ printf '401126\nmain\n' | gosym resolve fib
  gosym: error: standard input, line 2: 'main' is not a hexadecimal address
  0x401126 fibNaive
  [1]

Nor can every file be looked into.

  $ gosym resolve nowhere 1
  gosym: error: 'nowhere': No such file or directory
  [1]

  $ echo hello > text; gosym resolve text 1
  gosym: error: 'text': not an ELF file
  [1]

  $ gosym resolve . 1
  gosym: error: '.': Is a directory
  [1]

  $ head -c 100 fib > torn; gosym resolve torn 1
  gosym: error: 'torn': program headers: 13 entries of 0x38 bytes at 0x40 do not fit in 0x64 bytes
  [1]

