A Go program says what it is, stripped or not.

  $ gosym inspect demo-stripped | grep -v 'build id'
  file           demo-stripped, 1.2 MiB
  kind           executable, x86-64, statically linked, stripped
  Go version     go1.19.8
  main package   demo
  module         demo (devel)
  pclntab        1,428 functions, layout of Go 1.18 and 1.19 (magic 0xfffffff0), text at 0x401000 by moduledata, found by section .gopclntab
  .symtab        no functions
  .dynsym        no functions
  DWARF          none
  gosym uses     .gopclntab names every Go function, with file, line and inlined calls, stripped or not

  .text                         0x817b8  517.9 KiB  43.4 % of the file
  .gopclntab                    0x56750  345.8 KiB  29.0 % of the file
  $ gosym inspect demo | grep -E '^(kind|pclntab|.symtab|DWARF|gosym)'
  kind           executable, x86-64, statically linked, not stripped
  pclntab        1,428 functions, layout of Go 1.18 and 1.19 (magic 0xfffffff0), text at 0x401000 by moduledata, found by section .gopclntab
  .symtab        1,428 functions
  DWARF          498.7 KiB, 27.9 % of the file
  gosym uses     .gopclntab names every Go function, with file, line and inlined calls; .symtab names the rest
  .symtab                        0xc798   49.9 KiB   2.8 % of the file

A C program, and what is left of it.

  $ gosym inspect fib | grep -E '^(kind|pclntab|.symtab|.dynsym|gosym)' | sed 's/ *[0-9.]* % of the file//'
  kind           executable, x86-64, dynamically linked, not stripped
  pclntab        none
  .symtab        4 functions
  .dynsym        no functions
  gosym uses     .symtab names every function, without files, lines and inlined calls
  .dynsym                          0x60       96 B
  .symtab                         0x348      840 B
  $ gosym inspect fib-stripped | grep -E '^(kind|pclntab|.symtab|.dynsym|gosym)'
  kind           executable, x86-64, dynamically linked, stripped
  pclntab        none
  .symtab        no functions
  .dynsym        no functions
  gosym uses     nothing here names a function: a separate debug file would
  .dynsym                          0x60       96 B   0.7 % of the file

Functions are those of nm, in three orders.

  $ gosym inspect --functions fib | cut -c1-100
  0000000000401040       22 _start
  0000000000401070        1 _dl_relocate_static_pie
  0000000000401126       2f fibNaive
  0000000000401155       2a main
  $ gosym inspect --functions --sort name fib | head -2
  0000000000401070        1 _dl_relocate_static_pie
  0000000000401040       22 _start
  $ gosym inspect --functions --sort size fib | head -2
  0000000000401126       2f fibNaive
  0000000000401155       2a main
  $ gosym inspect --functions demo-stripped | grep ' main\.' | cut -d' ' -f3-
      158 main.main demo/main.go:33
  $ gosym inspect --functions fib-stripped
  0000000000401040       22 fib-stripped!fun_401040
  0000000000401070        1 fib-stripped!fun_401070
  0000000000401126       2f fib-stripped!fun_401126
  0000000000401155       2a fib-stripped!fun_401155
  $ gosym inspect --functions --json demo-stripped | grep '"main.main"' | sed 's/0x[0-9a-f]*/ADDRESS/'
  {"address":"ADDRESS","size":344,"name":"main.main","file":"demo/main.go","line":33}

  $ gosym inspect --sections fib | head -4
  SECTION                         ADDRESS       SIZE               FILE
  .interp                        0x400318       0x1c       28 B   0.2 %
  .note.gnu.property             0x400338       0x20       32 B   0.2 %
  .note.gnu.build-id             0x400358       0x24       36 B   0.2 %
  $ gosym inspect --sections --json fib | head -1 | sed 's/0.00[0-9]*/SHARE/'
  {"name":".interp","address":"0x400318","offset":792,"size":28,"share_of_file":SHARE}
  $ gosym inspect --json fib-stripped | python3 -c 'import json, sys; print(sorted(json.load(sys.stdin)))'
  ['consequence', 'debug_file_looked_for', 'dwarf', 'dynsym_functions', 'file', 'gnu_build_id', 'gnu_debugdata_functions', 'go_build_id', 'linking', 'machine', 'sections', 'size', 'stripped', 'symtab_functions', 'type']

  $ gosym inspect nowhere
  gosym: error: 'nowhere': No such file or directory
  [1]
  $ gosym inspect --sort size fib
  gosym: error: --sort needs --functions
  gosym: hint: see 'gosym inspect --help'
  [2]
  $ gosym inspect --functions --sort age fib
  gosym: error: --sort: 'age' is not one of address, size, name
  gosym: hint: see 'gosym inspect --help'
  [2]
