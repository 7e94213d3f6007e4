A Go program with all its symbols, and stripped: it names the same functions.

  $ gosym inspect demo
  file           demo, 1.7 MiB
  kind           executable, x86-64, statically linked, not stripped
  Go build id    _VFIMwN7WqtT8c6sxFPS/1mZXBK8EUNa3rTg0Zctl/4FevN8di2nSFETDepUj9/xskruscwFpOeCd-Wxxqk
  Go version     go1.19.8
  main package   demo
  module         demo (devel)
  pclntab        1,428 functions, layout of Go 1.18 and 1.19 (magic 0xfffffff0), text at 0x401000, by section .gopclntab
  .symtab        1,428 functions
  .dynsym        0 functions
  DWARF          498.7 KiB, 27.9 % of the file
  gosym uses     .gopclntab names every Go function, with file, line and inlined calls; .symtab names the rest

  .text                         0x817b8  517.9 KiB  29.0 % of the file
  .gopclntab                    0x56750  345.8 KiB  19.4 % of the file
  .debug_abbrev                   0x133      307 B   0.0 % of the file
  .debug_line                   0x1c417  113.0 KiB   6.3 % of the file
  .debug_frame                   0x5805   22.0 KiB   1.2 % of the file
  .debug_gdb_scripts               0x18       24 B   0.0 % of the file
  .debug_info                   0x358c4  214.2 KiB  12.0 % of the file
  .debug_loc                    0x1c29a  112.7 KiB   6.3 % of the file
  .debug_ranges                  0x9226   36.5 KiB   2.0 % of the file
  .symtab                        0xc798   49.9 KiB   2.8 % of the file

  $ gosym inspect demo-stripped
  file           demo-stripped, 1.2 MiB
  kind           executable, x86-64, statically linked, stripped
  Go build id    _VFIMwN7WqtT8c6sxFPS/1mZXBK8EUNa3rTg0Zctl/4FevN8di2nSFETDepUj9/xskruscwFpOeCd-Wxxqk
  Go version     go1.19.8
  main package   demo
  module         demo (devel)
  pclntab        1,428 functions, layout of Go 1.18 and 1.19 (magic 0xfffffff0), text at 0x401000, by section .gopclntab
  .symtab        0 functions
  .dynsym        0 functions
  DWARF          none
  gosym uses     .gopclntab names every Go function, with file, line and inlined calls, stripped or not

  .text                         0x817b8  517.9 KiB  43.4 % of the file
  .gopclntab                    0x56750  345.8 KiB  29.0 % of the file

  $ diff <(gosym inspect --functions demo) <(gosym inspect --functions demo-stripped) && echo same
  same

A C program lives by its symbol table alone.

  $ gosym inspect fib
  file           fib, 15.4 KiB
  kind           executable, x86-64, dynamically linked, not stripped
  GNU build id   527e81f0f10c0a5e504127529a2fc21366d8e0f8
  pclntab        none
  .symtab        4 functions
  .dynsym        0 functions
  DWARF          none
  gosym uses     .symtab names every function, without files, lines and inlined calls

  .dynsym                          0x60       96 B   0.6 % of the file
  .text                           0x13f      319 B   2.0 % of the file
  .eh_frame                        0xc8      200 B   1.3 % of the file
  .symtab                         0x348      840 B   5.3 % of the file

  $ gosym inspect fib-stripped
  file           fib-stripped, 14.1 KiB
  kind           executable, x86-64, dynamically linked, stripped
  GNU build id   527e81f0f10c0a5e504127529a2fc21366d8e0f8
  pclntab        none
  .symtab        0 functions
  .dynsym        0 functions
  DWARF          none
  gosym uses     nothing here names a function; addresses stay unnamed

  .dynsym                          0x60       96 B   0.7 % of the file
  .text                           0x13f      319 B   2.2 % of the file
  .eh_frame                        0xc8      200 B   1.4 % of the file

  $ gosym inspect --functions fib
  0000000000401040       22 _start
  0000000000401070        1 _dl_relocate_static_pie
  0000000000401126       2f fibNaive
  0000000000401155       2a main

  $ gosym inspect --functions --sort size fib | head -n 1
  0000000000401126       2f fibNaive

  $ gosym inspect --functions --json fib | head -n 1
  {"address":"0x401040","size":34,"name":"_start"}

  $ gosym inspect --functions fib-stripped
  gosym: warning: 'fib-stripped': no functions: no Go function table and no symbols

  $ gosym inspect --sections fib-stripped | head -n 4
  SECTION                         ADDRESS       SIZE               FILE
  .interp                        0x400318       0x1c       28 B   0.2 %
  .note.gnu.property             0x400338       0x20       32 B   0.2 %
  .note.gnu.build-id             0x400358       0x24       36 B   0.2 %

  $ gosym inspect --json fib-stripped
  {"file":"fib-stripped","size":14408,"type":"executable","machine":"x86-64","linking":"dynamically linked","stripped":true,"gnu_build_id":"527e81f0f10c0a5e504127529a2fc21366d8e0f8","go_build_id":"","symtab_functions":0,"dynsym_functions":0,"dwarf":false,"consequence":"nothing here names a function; addresses stay unnamed","sections":[{"name":".dynsym","address":"0x4003c0","offset":960,"size":96,"share_of_file":0.006662965019433647},{"name":".text","address":"0x401040","offset":4160,"size":319,"share_of_file":0.022140477512493058},{"name":".eh_frame","address":"0x402040","offset":8256,"size":200,"share_of_file":0.013881177123820102}]}

Options that do not go together.

  $ gosym inspect --sort size fib
  gosym: error: --sort requires --functions
  gosym: hint: see 'gosym inspect --help'
  [2]

  $ gosym inspect --functions --sections fib
  gosym: error: --functions excludes --sections
  gosym: hint: see 'gosym inspect --help'
  [2]

Not a binary.

  $ gosym inspect nowhere
  gosym: error: 'nowhere': No such file or directory
  [1]

  $ printf 'hello, world\n' > text; gosym inspect text
  gosym: error: 'text': not an ELF file
  [1]

