Without a recording.

  $ gosym report
  gosym: error: 'cpu.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  [1]

  $ gosym report --pprof out.pb.gz nowhere.raw; ls out.pb.gz
  gosym: error: 'nowhere.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  ls: cannot access 'out.pb.gz': No such file or directory
  [2]

Files that are none.

  $ printf 'hello, world, this is no recording\n' > text; gosym report text
  gosym: error: 'text': not a gosym recording
  gosym: hint: read are recordings, perf.data, pprof profiles, folded text and pages of gosym
  [1]

  $ : > empty.raw; gosym report empty.raw
  gosym: error: 'empty.raw': not a gosym recording
  gosym: hint: the file is empty
  [1]

  $ gosym report demo-stripped
  gosym: error: 'demo-stripped': not a gosym recording
  gosym: hint: an ELF file: gosym inspect tells what is in it
  [1]

  $ : | gosym report -
  gosym: error: standard input: not a gosym recording
  gosym: hint: the file is empty
  [1]

Options that are wrong in themselves.

  $ gosym report one.raw two.raw
  gosym: error: 'one.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  [1]

  $ gosym report '--mine=(' one.raw
  gosym: error: --mine: '(' is not a regular expression: missing ): (
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --format dot
  gosym: error: --format: 'dot' is not one of text, json, md, csv, folded, script, pprof, html, svg, firefox, speedscope, otlp, pyroscope, parca
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --time 3,1
  gosym: error: --time: '3,1' ends before it begins
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --top -1
  gosym: error: --top: '-1' is not a count
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report -j 0
  gosym: error: --jobs: '0' is not a number from 1 to 256
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --tid main
  gosym: error: --tid: 'main' is not a thread id
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --label =t1
  gosym: error: --label: '=t1' is not KEY=VALUE
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --goid
  gosym: error: --goid: only a pprof profile has the numbers of goroutines
  gosym: hint: gosym report --goid --pprof cpu.pb.gz, or --by goroutine
  [2]

  $ gosym report --folded --pprof out.pb.gz
  gosym: error: --folded and --pprof cannot be used together
  gosym: hint: see 'gosym report --help'
  [2]

A slip does not cost the recording.

  $ printf 'GOSYMRAWrest' > made.raw
  $ gosym report --pprof made.raw made.raw
  gosym: error: 'made.raw' is a recording: gosym does not overwrite it with a profile
  gosym: hint: name another file for the output
  [2]

Views that are wrong in themselves.

  $ gosym report --callers 'a('
  gosym: error: --callers: 'a(' is not a regular expression: missing ): a(
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --tree --callers main
  gosym: error: --tree and --callers cannot be used together
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --by planet
  gosym: error: --by: 'planet' is not one of function, line, file, module, package, category, address, process, program, thread, comm, label:KEY, cgroup, container, goroutine, cpu, time[:STEP], host, recording, state, waker
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --by process,comm,module,function
  gosym: error: --by: 'process,comm,module,function' has more than 3 parts
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --min 101
  gosym: error: --min: '101' is not a percentage
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --depth 0
  gosym: error: --depth: '0' is not a depth
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --sort size
  gosym: error: --sort: 'size' is not one of self, total, name
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --json --tree
  gosym: error: a json profile has all stacks: views are for text, csv and md
  gosym: hint: leave out --tree, --inverted, --callers, --callees, --lines and --by
  [2]

  $ gosym report --json --csv
  gosym: error: --json and --csv cannot be used together
  gosym: hint: see 'gosym report --help'
  [2]

