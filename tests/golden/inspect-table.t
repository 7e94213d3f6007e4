The header of a function table: as the linker wrote it, and what follows from it.

  $ gosym inspect --header demo-stripped
  found by      section .gopclntab
  address       0x4bb1c0
  file offset   0xbb1c0
  byte order    little-endian
  layout        Go 1.18 and 1.19
  text base     0x401000
  known by      moduledata

    OFFSET    IN FILE  FIELD          VALUE
       0x0    0xbb1c0  magic          0xfffffff0
       0x4    0xbb1c4  padding        0x0
       0x6    0xbb1c6  quantum        1
       0x7    0xbb1c7  pointer_size   8
       0x8    0xbb1c8  function_count 1428
      0x10    0xbb1d0  file_count     185
      0x18    0xbb1d8  text_start     0x401000
      0x20    0xbb1e0  names          0x60
      0x28    0xbb1e8  units          0xbc00
      0x30    0xbb1f0  files          0xc400
      0x38    0xbb1f8  pc_values      0xd2c0
      0x40    0xbb200  functab        0x38360

    OFFSET    IN FILE       SIZE  TABLE
      0x60    0xbb220     0xbba0  names
    0xbc00    0xc6dc0      0x800  units
    0xc400    0xc75c0      0xec0  files
    0xd2c0    0xc8480    0x2b0a0  pc_values
   0x38360    0xf3520     0x2ca4  functab
   0x3b004    0xf61c4    0x1b748  records


  $ gosym inspect --header --json demo-stripped | python3 -c '
  > import json, sys
  > header = json.load(sys.stdin)
  > print(sorted(header), header["fields"][4], header["tables"][0])'
  ['address', 'byte_order', 'fields', 'file_offset', 'found_by', 'layout', 'tables', 'text', 'text_base'] {'name': 'function_count', 'offset': 8, 'value': 1428} {'name': 'names', 'offset': 96, 'size': 48032}

Where the runtime has its parts.

  $ gosym inspect --module-data demo-stripped | head -8
  moduledata at 0x517860, layout of Go 1.18 and 1.19
  WORD  FIELD        VALUE
     0  pcHeader     0x4bb1c0
     1  funcnametab  0x4bb220, length 48008, capacity 48008
     4  cutab        0x4c6dc0, length 2048, capacity 2048
     7  filetab      0x4c75c0, length 3760, capacity 3760
    10  pctab        0x4c8480, length 176288, capacity 176288
    13  pclntable    0x4f3520, length 123888, capacity 123888
  $ gosym inspect --module-data --json demo-stripped | python3 -c '
  > import json, sys
  > data = json.load(sys.stdin)
  > print(data["layout"], data["fields"][0]["name"], data["fields"][1]["length"])'
  Go 1.18 and 1.19 pcHeader 48008

From what it was built.

  $ gosym inspect --build-info demo-stripped | grep -v ldflags
  go	go1.19.8
  path	demo
  mod	demo	(devel)
  build	-compiler=gc
  build	-trimpath=true
  build	CGO_ENABLED=0
  build	GOARCH=amd64
  build	GOOS=linux
  build	GOAMD64=v1
  $ gosym inspect --build-info --json demo-stripped | python3 -c '
  > import json, sys
  > info = json.load(sys.stdin)
  > print(info["version"], info["module"], info["settings"]["GOOS"])'
  go1.19.8 {'path': 'demo', 'version': '(devel)', 'sum': ''} linux

Its source files.

  $ gosym inspect --files demo-stripped | grep demo/
  demo/main.go
  $ gosym inspect --files --json demo-stripped | grep demo/
  {"file":"demo/main.go"}

One function, by name or by any address in it.

  $ gosym inspect --function 'sync.(*Mutex).Unlock' demo-stripped
  function        sync.(*Mutex).Unlock
  address         0x468c40-0x468ca0
  record          0x1a0c0
  record_size     84
  entry           0x67c40
  name_offset     0x9ffe
  arguments_size  8
  deferreturn     0x0
  pcsp            0x24383
  pcfile          0x2438a
  pcln            0x2438d
  pcdata_count    4
  unit            221
  id              0
  kind            normal
  flags           0x0
  funcdata_count  7
  pcsp at 0x24383
    0x468c40-0x468c4a  0
    0x468c4a-0x468c72  24
    0x468c72-0x468c84  0
  pcfile at 0x2438a
    0x468c40-0x468c84  2 sync/mutex.go
  pcln at 0x2438d
    0x468c40-0x468c54  212
    0x468c54-0x468c60  219
    0x468c60-0x468c64  220
    0x468c64-0x468c69  223
    0x468c69-0x468c73  225
    0x468c73-0x468c84  212
  pcdata 0 UnsafePoint at 0x2439b
    0x468c40-0x468c44  -1
    0x468c44-0x468c46  -2
    0x468c46-0x468c73  -1
    0x468c73-0x468c82  -2
    0x468c82-0x468c84  -1
  pcdata 1 StackMapIndex at 0x243a6
    0x468c40-0x468c64  -1
    0x468c64-0x468c69  1
    0x468c69-0x468c84  -1
  pcdata 3 ArgLiveIndex at 0x243ad
    0x468c40-0x468c54  -1
    0x468c54-0x468c84  1
  funcdata 0 ArgsPointerMaps at 0x4a220c
  funcdata 1 LocalsPointerMaps at 0x4a1c08
  funcdata 5 ArgInfo at 0x4a1a52
  funcdata 6 ArgLiveInfo at 0x4a1a0a
  $ gosym inspect --function 0x482701 demo-stripped | head -2
  function        main.main
  address         0x482660-0x4827b8
  $ gosym inspect --function 482701 --json demo-stripped | python3 -c '
  > import json, sys
  > function = json.load(sys.stdin)
  > print(function["function"], function["id"], function["tables"][1])
  > print(function["funcdata"][0], function["inlined"][1])'
  main.main 0 {'name': 'pcfile', 'meaning': '', 'offset': 176170, 'whole': True, 'ranges': [{'begin': '0x482660', 'end': '0x482723', 'value': 1, 'file': 'demo/main.go'}, {'begin': '0x482723', 'end': '0x482745', 'value': 7, 'file': 'fmt/print.go'}, {'begin': '0x482745', 'end': '0x4827b8', 'value': 1, 'file': 'demo/main.go'}]}
  {'index': 0, 'meaning': 'ArgsPointerMaps', 'address': '0x4a1c38'} {'index': 1, 'depth': 1, 'function': 'main.fetchData', 'file': 'demo/main.go', 'line': 30, 'kind': 'normal', 'parent_pc': 150}
  $ gosym inspect --function main.nowhere demo-stripped
  gosym: error: 'demo-stripped': no function 'main.nowhere'
  [5]
  $ gosym inspect --function 0x1 demo-stripped
  gosym: error: 'demo-stripped': no function '0x1'
  [5]

Calls inlined into it are a tree.

  $ gosym inspect --function main.main demo-stripped | sed -n '/^inlined/,$p'
  inlined calls
    0 main.processRequest, called at demo/main.go:41
      1 main.fetchData, called at demo/main.go:30
      2 main.computeResult, called at demo/main.go:30
    3 fmt.Println, called at demo/main.go:43

The table is whole, and is not with one byte changed: the end of a table of files.

  $ gosym inspect --check demo-stripped
  the function table can be read             checked        1, failed 0
  entries rise                               checked     1428, failed 0
  records can be read                        checked     1428, failed 0
  records follow one another, aligned        checked     1428, failed 0
  functions lie in code                      checked     1428, failed 0
  functions have printable names             checked     1428, failed 0
  units lie in their table                   checked     1428, failed 0
  ids are of one function, or of wrappers    checked       18, failed 0
  deferreturn lies in the function           checked     1428, failed 0
  pc-value tables end in the function        checked     8453, failed 0
  pcsp, pcfile and pcln end at one pc        checked     1428, failed 0
  lines are positive                         checked    37634, failed 0
  files have names                           checked     7708, failed 0
  inlined calls have printable names         checked     3979, failed 0
  callers come before inlined calls          checked     3979, failed 0
  funcdata lies in the image                 checked     5499, failed 0
  file names are as many as said             checked        1, failed 0
  units lead to file names                   checked      512, failed 0
  moduledata has the tables of the header    checked        6, failed 0
  slices of moduledata lie in the image      checked        9, failed 0
  ranges of moduledata end after they begin  checked        7, failed 0
  moduledata has the bounds of functab       checked        2, failed 0
  findfunctab leads to the function          checked     2072, failed 0
  whole: 1428 functions, 0 holes, 0 of 23 invariants broken
  $ gosym inspect --check --json demo-stripped | python3 -c '
  > import json, sys
  > report = json.load(sys.stdin)
  > print(report["whole"], report["functions"], len(report["checks"]), report["checks"][1])'
  True 1428 23 {'invariant': 'entries rise', 'checked': 1428, 'failed': 0}
  $ python3 -c '
  > data = bytearray(open("demo-stripped", "rb").read())
  > table = data.index(b"\xf0\xff\xff\xff\0\0\x01\x08")
  > data[table + 0xd2c0 + 0x2b02a + 3] = 0xff
  > open("broken", "wb").write(data)'
  $ gosym inspect --check broken | grep -A1 'failed [^0]'
  pc-value tables end in the function        checked     8453, failed 1
      first: 0x482660 main.main: the table at 0x2b02a is at pc 0x164 of 0x158 and has not ended
  --
  files have names                           checked     7714, failed 8
      first: 0x482660 main.main: file -2239 at pc 0xc3 has none
  $ gosym inspect --check broken >/dev/null
  [1]
  $ gosym inspect --function main.main broken | grep -B3 damaged
    0x48276b-0x482797  -2258
    0x482797-0x482799  -2256
    0x482799-0x4827a7  -2255
    damaged: does not end in the function

A damaged header is shown as far as it goes, and is broken.

  $ cp demo-stripped damaged && python3 -c '
  > with open("damaged", "r+b") as file:
  >   table = file.read().index(b"\xf0\xff\xff\xff\0\0\x01\x08")
  >   file.seek(table + 6)
  >   file.write(b"\3")'
  $ gosym inspect --header damaged 2>&1 >/dev/null
  gosym: error: 'damaged': Go function table: section .gopclntab: header: instruction quantum is 3, not 1, 2 or 4
  [1]
  $ gosym inspect --header damaged 2>/dev/null | head -9
  found by      section .gopclntab
  address       0x4bb1c0
  file offset   0xbb1c0
  byte order    little-endian

    OFFSET    IN FILE  FIELD          VALUE
       0x0    0xbb1c0  magic          0xfffffff0
       0x4    0xbb1c4  padding        0x0
       0x6    0xbb1c6  quantum        3

  $ gosym inspect --check damaged
  the function table can be read             checked        1, failed 1
      first: Go function table: section .gopclntab: header: instruction quantum is 3, not 1, 2 or 4
  broken: 0 functions, 0 holes, 1 of 1 invariants broken
  [1]
  $ gosym inspect --files damaged
  gosym: error: 'damaged': Go function table: section .gopclntab: header: instruction quantum is 3, not 1, 2 or 4
  [1]

What has no table has none of this.

  $ gosym inspect --header fib
  gosym: error: 'fib': no Go function table
  [1]
  $ gosym inspect --check fib
  gosym: error: 'fib': no Go function table
  [1]
  $ gosym inspect --function main fib
  function        main
  address         0x401155-0x40117f
  size            42
  name from       symtab
  call frames
    0x401155-0x401159  cfa sp+8, return [cfa-8], fp unchanged
    0x401159-0x40117e  cfa sp+16, return [cfa-8], fp unchanged
    0x40117e-0x40117f  cfa sp+8, return [cfa-8], fp unchanged

A part of a name, and what matches an expression, are listed, unless it is only one.

  $ gosym inspect --function fib fib | head -1
  function        fibNaive
  $ gosym inspect --function 'a' fib
  0000000000401040       22 _start
  0000000000401070        1 _dl_relocate_static_pie
  0000000000401126       2f fibNaive
  0000000000401155       2a main
  $ gosym inspect --function '^main$|^fib' --json fib
  {"address":"0x401126","size":47,"name":"fibNaive"}
  {"address":"0x401155","size":42,"name":"main"}
  $ gosym inspect --function 'main).' demo-stripped
  gosym: error: 'demo-stripped': 'main).' is not a regular expression: unexpected ): main).
  [2]
  $ gosym inspect --function 'Mutex).Unlock' demo-stripped | head -1
  function        sync.(*Mutex).Unlock
  $ gosym inspect --function '(x' fib
  gosym: error: 'fib': '(x' is not a regular expression: missing ): (x
  [2]

  $ gosym inspect --build-info fib
  gosym: error: 'fib': no Go build information that can be read
  [1]

Views answer one question each.

  $ gosym inspect --check --files fib
  gosym: error: --check and --files cannot be used together
  gosym: hint: see 'gosym inspect --help'
  [2]
