Files that cannot be used are told apart from a change: 3, not 1.

  $ gosym diff one.raw two.raw
  gosym: error: 'one.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  [3]

  $ gosym diff demo demo; mkdir empty; gosym diff empty -- empty empty; echo $?
  gosym: error: 'demo': not a gosym recording
  gosym: hint: an ELF file: gosym inspect tells what is in it
  gosym: error: 'empty': no recordings (*.raw) in this directory
  3

Two sides.

  $ gosym diff one.raw
  gosym: error: 'one.raw': No such file or directory
  gosym: hint: make a recording first: gosym record -p PID -d 10s
  [3]

  $ gosym diff
  gosym: error: two files are compared: BEFORE and AFTER
  gosym: hint: gosym diff before.raw after.raw, or gosym diff a1.raw a2.raw -- b1.raw b2.raw
  [2]

  $ gosym diff one.raw two.raw three.raw; gosym diff -- one.raw
  gosym: error: more than two files: '--' stands between BEFORE and AFTER
  gosym: hint: gosym diff before.raw after.raw, or gosym diff a1.raw a2.raw -- b1.raw b2.raw
  gosym: error: there is no file before '--'
  gosym: hint: gosym diff before.raw after.raw, or gosym diff a1.raw a2.raw -- b1.raw b2.raw
  [2]

Options that are wrong in themselves.

  $ gosym diff --by time a b; gosym diff --by module,function a b; gosym diff --confidence 100 a b
  gosym: error: --by: nothing has the same time before and after
  gosym: error: --by: diff compares by one key only
  gosym: error: --confidence: '100' is not from 50 to 99.99
  gosym: hint: see 'gosym diff --help'
  [2]

  $ gosym diff --fail-above lots a b; gosym diff --per minute a b; gosym diff --fail-above
  gosym: error: --fail-above: 'lots' is not a percentage
  gosym: hint: see 'gosym diff --help'
  gosym: error: --per: 'minute' is not one of share, second, run
  gosym: hint: see 'gosym diff --help'
  gosym: error: --fail-above needs a value
  gosym: hint: see 'gosym diff --help'
  [2]

The help of `--by` names what two recordings may have in common.

  $ gosym diff --help | sed -n '/--by KEY/,/function)/p'
    -s, --by KEY              Compare by one of function, line, file, module,
                              package, category, address, process, program,
                              thread, comm, label:KEY, cgroup, container,
                              goroutine, cpu, host, state, waker (default:
                              function)
