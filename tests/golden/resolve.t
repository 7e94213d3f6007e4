The functions of a Go program, stripped, with the calls that the compiler inlined.

  $ gosym inspect --functions demo-stripped | grep main.main | cut -c1-100
  0000000000482660      158 main.main demo/main.go:33
  $ start=$(gosym inspect --functions demo-stripped | awk '$3 == "main.main" { print $1 }')
  > for offset in $(seq 0 343); do printf '%x\n' $((0x$start + offset)); done >addresses
  > gosym resolve demo-stripped <addresses | sed 's/^0x[0-9a-f]*/ADDRESS/' | sed -z 's/\n  (inlined by)/ <-/g' | uniq
  ADDRESS main.main demo/main.go:33
  ADDRESS main.main demo/main.go:35
  ADDRESS main.main demo/main.go:38
  ADDRESS main.main demo/main.go:36
  ADDRESS main.main demo/main.go:38
  ADDRESS main.main demo/main.go:40
  ADDRESS main.main demo/main.go:41
  ADDRESS main.main demo/main.go:40
  ADDRESS main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.fetchData demo/main.go:15 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.computeResult demo/main.go:23 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.main demo/main.go:43
  ADDRESS fmt.Println fmt/print.go:294 <- main.main demo/main.go:43
  ADDRESS main.main demo/main.go:44
  ADDRESS main.fetchData demo/main.go:15 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.fetchData demo/main.go:16 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.fetchData demo/main.go:15 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.computeResult demo/main.go:23 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.computeResult demo/main.go:24 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.computeResult demo/main.go:23 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.computeResult demo/main.go:23 <- main.processRequest demo/main.go:30 <- main.main demo/main.go:41
  ADDRESS main.main demo/main.go:33

Stripping changes no answer.

  $ gosym resolve demo <addresses >full; gosym resolve demo-stripped <addresses | cmp - full

  $ gosym resolve --no-inlines demo-stripped <addresses | sed 's/^0x[0-9a-f]*/ADDRESS/' | sed -z 's/\n  (inlined by)/ <-/g' | uniq
  ADDRESS main.main demo/main.go:33
  ADDRESS main.main demo/main.go:35
  ADDRESS main.main demo/main.go:38
  ADDRESS main.main demo/main.go:36
  ADDRESS main.main demo/main.go:38
  ADDRESS main.main demo/main.go:40
  ADDRESS main.main demo/main.go:41
  ADDRESS main.main demo/main.go:40
  ADDRESS main.main demo/main.go:41
  ADDRESS main.main demo/main.go:43
  ADDRESS main.main demo/main.go:44
  ADDRESS main.main demo/main.go:41
  ADDRESS main.main demo/main.go:33

A C program has its symbol table, and no names when that is gone.

  $ start=$(nm fib | awk '$3 == "fibNaive" { print $1 }')
  > gosym resolve fib $start | sed 's/^0x[0-9a-f]*/ADDRESS/'
  > gosym resolve fib-stripped $start | sed 's/^0x[0-9a-f]*/ADDRESS/'
  ADDRESS fibNaive
  ADDRESS ?? (no symbols in this file, in fib-stripped!fun_401126)

What it is called instead is an address again.

  $ gosym resolve fib-stripped fun_401126 'fib-stripped!fun_401126' fun_401127 other!fun_401126
  0x401126 fib-stripped!fun_401126
  0x401126 fib-stripped!fun_401126
  fun_401127 ?? (no symbols in this file)
  other!fun_401126 ?? (no symbols in this file)

A name is answered by where the function begins, under all its names.

  $ gosym resolve demo-stripped main.main
  0x482660 main.main demo/main.go:33
  $ gosym resolve -s demo-stripped main.main 482660 main.nobody
  0x482660 main.main main.go:33
  0x482660 main.main main.go:33
  main.nobody ?? (no function of that name)
  $ gosym resolve --json demo-stripped main.main main.nobody
  {"name":"main.main","address":"0x482660","frames":[{"function":"main.main","file":"demo/main.go","line":33,"inlined":false,"source":"pclntab"}]}
  {"name":"main.nobody","frames":[],"reason":"no function of that name"}
  $ test "$(gosym resolve fib fibNaive)" = "0x$(nm fib | awk '$3 == "fibNaive" { print $1 }' | sed 's/^0*//') fibNaive"
  $ gosym resolve fib-stripped fibNaive
  fibNaive ?? (no symbols in this file)

A name of the letters a to f is a number as well: it is the function if there is one.

  $ printf 'int add(int a) { return a; }\nint (*keep)(int) = add;\nint main() { return 0; }\n' >add.c
  > gcc -o added add.c; gosym resolve added add fade | sed 's/^0x[0-9a-f]* add$/ADDRESS add/'
  ADDRESS add
  0xfade ?? (not in a code segment)

addr2line's options.

  $ gosym resolve -e demo-stripped -f -i -C -p -s -a 482660
  0x482660 main.main main.go:33
  $ gosym resolve -apfie demo-stripped 482660; echo 482660 | gosym resolve -spe demo-stripped
  0x482660 main.main demo/main.go:33
  0x482660 main.main main.go:33

A filter puts names behind addresses, and copies all else.

  $ printf 'pc=0x482660 0x10\n./demo-stripped(+0x482661)[0x482660]\n\377 main.main+0x1/0x9e 0xrubbish\n' | gosym resolve --filter -s demo-stripped | tr '\377' '?'
  pc=0x482660 <main.main main.go:33> 0x10
  ./demo-stripped(+0x482661)[0x482660] <main.main main.go:33>
  ? main.main+0x1/0x9e <main.main main.go:33> 0xrubbish
  $ printf 'main.main()\n\tdemo/main.go:33 +0x1\nmain.main()\n\tdemo/main.go:34 +0x1\n' | gosym resolve --filter demo-stripped
  main.main()
  	demo/main.go:33 +0x1 <main.main demo/main.go:33>
  main.main()
  	demo/main.go:34 +0x1
  $ gosym resolve --filter demo demo-stripped <demo | cmp - demo && echo the same
  the same
  $ echo 0x482660 | gosym resolve --filter demo-stripped >/dev/full
  gosym: error: cannot write to standard output: No space left on device
  [3]
  $ gosym inspect demo-stripped >/dev/full
  gosym: error: cannot write to standard output: No space left on device
  [3]
  $ gosym resolve demo-stripped 482660 --json >/dev/full
  gosym: error: cannot write to standard output: No space left on device
  [3]
  $ gosym resolve --filter demo nowhere
  gosym: error: 'nowhere': No such file or directory
  [1]

Whatever cannot be answered says why.

  $ gosym resolve demo-stripped 10
  0x10 ?? (not in a code segment)
  $ gosym resolve --json fib-stripped 0x10
  {"address":"0x10","frames":[],"reason":"not in a code segment"}

JSON has one object a line, innermost frame first.

  $ gosym resolve --json fib $(nm fib | awk '$3 == "fibNaive" { print $1 }') | sed 's/0x[0-9a-f]*/ADDRESS/'
  {"address":"ADDRESS","frames":[{"function":"fibNaive","inlined":false,"source":"symtab"}]}
  $ gosym resolve --json fib $(nm fib | awk '$3 == "main" { print $1 }') | sed 's/0x[0-9a-f]*/ADDRESS/'
  {"address":"ADDRESS","frames":[{"function":"main","inlined":false,"source":"symtab"}]}

Assembly tells where it begins, but not where it ends: up to the next symbol it is a guess.

  $ start=$(nm fib | awk '$3 == "deregister_tm_clones" { print $1 }')
  > gosym resolve --json fib $start | sed 's/0x[0-9a-f]*/ADDRESS/'
  {"address":"ADDRESS","frames":[{"function":"deregister_tm_clones","inlined":false,"source":"label, guess"}]}
  $ gosym resolve fib $(nm fib | awk '$3 == "_fini" { print $1 }') | sed 's/0x[0-9a-f]*/ADDRESS/'
  ADDRESS _fini

Calls of a library go through a stub, stripped or not.

  $ stub=$(objdump -d fib-stripped | awk '$2 == "<printf@plt>:" { print $1 }')
  > gosym resolve --json fib-stripped $stub | sed 's/0x[0-9a-f]*/ADDRESS/'
  > gosym resolve fib $stub | sed 's/0x[0-9a-f]*/ADDRESS/'
  {"address":"ADDRESS","frames":[{"function":"printf@plt","inlined":false,"source":"plt"}]}
  ADDRESS printf@plt

Input lines may be blank and may end as on Windows; what is no address ends the answers.

  $ printf '0x10\r\n\n20\nrubbish\n30\n' | gosym resolve demo-stripped
  0x10 ?? (not in a code segment)
  0x20 ?? (not in a code segment)
  gosym: error: standard input, line 4: 'rubbish' is not a hexadecimal address
  [1]
  $ printf '10' | gosym resolve demo-stripped
  0x10 ?? (not in a code segment)
  $ gosym resolve demo-stripped 10 0xrubbish 12345678901234567 20
  0x10 ?? (not in a code segment)
  gosym: error: '0xrubbish' is not a hexadecimal address
  gosym: error: '12345678901234567' is not a hexadecimal address
  0x20 ?? (not in a code segment)
  [2]
  $ head -c 5000 /dev/zero | tr '\0' 1 | gosym resolve demo-stripped
  gosym: error: standard input, line 1: longer than 4096 bytes
  [1]

Files that cannot be asked.

  $ gosym resolve nowhere 10
  gosym: error: 'nowhere': No such file or directory
  [1]
  $ echo text >text; gosym resolve text 10
  gosym: error: 'text': not an ELF file
  [1]
  $ gosym resolve . 10
  gosym: error: '.': Is a directory
  [1]
  $ head -c 100 fib >cut; gosym resolve cut 10
  gosym: error: 'cut': program headers: 13 entries of 0x38 bytes at 0x40 do not fit in 0x64 bytes
  [1]
  $ gosym resolve
  gosym: error: BINARY is required, or --pid PID
  gosym: hint: see 'gosym resolve --help'
  [2]
  $ gosym resolve --pid $$ main 10
  gosym: error: 'main' is not a hexadecimal address
  0x10 ?? (no code is mapped there)
  [2]
  $ sh -c : & wait $!; gosym resolve --pid $! 10 2>&1 | sed "s/$!/PID/"
  gosym: error: process PID does not exist
  $ gosym resolve --pid $$ 10
  0x10 ?? (no code is mapped there)
  $ gosym resolve --json --pid $$ 10
  {"address":"0x10","frames":[],"reason":"no code is mapped there"}
  $ gosym resolve demo-stripped 10 >/dev/full
  gosym: error: cannot write to standard output: No space left on device
  [3]

Names by build id and offset in the file: from the binary, from an index of it, and in any text.

  $ mkdir store; gosym index --store store demo-stripped fib 2>&1 | sed 's|store/.*: [0-9,]*|INDEX: N|; s/, [0-9].*//'
  INDEX: N functions of demo-stripped
  INDEX: N functions of fib
  $ id() { find store -size $1 -name '*.gsym' | sed 's|store/.build-id/\(..\)/\(.*\).gsym|\1\2|'; }
  > id +100 >go-id; id -100 >c-id; sed 's/$/+0x82660/' go-id >place
  > gosym resolve demo-stripped fib $(cat place) 0123456789abcdef+0x1 | sed "s/$(cat go-id)/ID/"
  gosym: warning: build id 0123456789abcdef: no file of this build id
  ID+0x82660 main.main demo/main.go:33
  0123456789abcdef+0x1 ?? (no file of this build id)
  $ printf '%s\n' "$(cat go-id) 82660" "$(cat c-id)+0x1126" "$(cat c-id)+0x1" >lines
  > gosym resolve --store store <lines | sed "s/$(cat go-id)/GO/; s/$(cat c-id)/C/"
  GO+0x82660 main.main demo/main.go:33
  C+0x1126 fibNaive
  C+0x1 ?? (no code at this offset)
  $ gosym resolve --build-ids fib demo-stripped <lines | sed "s/$(cat go-id)/GO/; s/$(cat c-id)/C/"
  GO+0x82660 main.main demo/main.go:33
  C+0x1126 fibNaive
  C+0x1 ?? (no code at this offset)
  $ gosym resolve --json --store store $(cat place) | sed "s/$(cat go-id)/ID/"
  {"build_id":"ID","offset":"0x82660","image_address":"0x482660","frames":[{"function":"main.main","file":"demo/main.go","line":33,"inlined":false,"source":"gsym"}]}
  $ printf 'a\n  %s\n  0123456789abcdef01+0x1 7\n' $(cat place) | gosym resolve -s --filter --store store 2>warning
  > cat warning
  a
    main.main main.go:33
    0123456789abcdef01+0x1 7
  gosym: warning: build id 0123456789abcdef01: no file of this build id
  $ echo rubbish | gosym resolve --build-ids demo-stripped
  gosym: error: standard input, line 1: 'rubbish' is not a build id with an offset, BUILDID+0xOFFSET
  [1]

An index stands in for its binary, of which it has the same names; another version of the format is refused.

  $ gosym index -q demo-stripped; gosym resolve --wrappers demo-stripped.gsym <addresses | cmp - full
  $ gosym index -q -o - demo-stripped | cmp - demo-stripped.gsym
  $ cp demo-stripped.gsym v2; printf '\2' | dd of=v2 bs=1 seek=4 conv=notrunc status=none; gosym resolve v2 1
  gosym: error: 'v2': GSYM of version 2 is not known, only version 1
  [1]
  $ gosym index -o x demo fib
  gosym: error: -o is of one index, and there are several binaries
  gosym: hint: write them to a store: --store DIR
  [2]
  $ gosym index --store nowhere demo 2>&1 | head -n 1
  gosym: error: --store: 'nowhere' is not a directory
