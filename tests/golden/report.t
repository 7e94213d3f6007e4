What cannot be read is told, with what to do where that is sure.

  $ gosym report
  gosym: error: 'cpu.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  [1]

  $ gosym report demo-stripped
  gosym: error: 'demo-stripped': not a gosym recording
  gosym: hint: an ELF file: gosym inspect tells what is in it
  [1]

  $ gosym report -i no/such.raw
  gosym: error: 'no/such.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  [1]

  $ : | gosym report -
  gosym: error: standard input: not a gosym recording
  gosym: hint: the file is empty
  [1]

What the options of report must be.

  $ gosym report --time 3,1
  gosym: error: --time: '3,1' ends before it begins
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --time soon
  gosym: error: --time: 'soon' is not a range such as 1.5,3
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --top few
  gosym: error: --top: 'few' is not a count
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --pid 12x
  gosym: error: Could not convert: --pid = 12x
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --folded --pprof cpu.pb.gz
  gosym: error: --folded excludes --pprof
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report one.raw two.raw
  gosym: error: The following argument was not expected: two.raw
  gosym: hint: see 'gosym report --help'
  [2]

