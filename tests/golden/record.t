What is to be recorded has to be said, and only once.

  $ gosym record
  gosym: error: nothing to record: name a process (-p PID), a command, or -a
  gosym: hint: record a process: gosym record -p PID, or a command: gosym record -- CMD
  [2]

  $ gosym record -a -p 1
  gosym: error: -p PID and -a exclude one another
  gosym: hint: see 'gosym record --help'
  [2]

A command beside what is recorded is but the stop watch.

  $ gosym record -p 1 no-such-command
  gosym: error: 'no-such-command': command not found
  [127]

Processes have numbers or names; that there is none may be the shell's doing.

  $ gosym record -p $(pidof such-a-server) -d 1s
  gosym: error: --pid: no process id: is the program running?
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -p "" -d 1s
  gosym: error: --pid: no process id: is the program running?
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -p 1,4294967296
  gosym: error: --pid: '4294967296' is not a process id
  gosym: hint: see 'gosym record --help'
  [2]

Of what nothing runs, nothing is recorded. The word behind a name is a command.

  $ gosym record -p such-a-server -d 1s
  gosym: error: no process named 'such-a-server'
  gosym: hint: to start a program: gosym record -- ./program
  [5]

  $ gosym record --comm 'such a server' -d 1s
  gosym: error: no process named 'such a server'
  gosym: hint: to start a program: gosym record -- ./program
  [5]

  $ gosym record -u such-a-user -d 1s
  gosym: error: user 'such-a-user' does not exist
  [5]

  $ gosym record -u 0 -p 1
  gosym: error: -p PID and -u USER exclude one another
  gosym: hint: see 'gosym record --help'
  [2]

Options that are wrong in themselves.

  $ gosym record -a --freq 0
  gosym: error: --freq: '0' is not a whole number from 1 to 1,000,000
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --duration soon
  gosym: error: --duration: 'soon' is not a time such as 10s, 1.5s or 2m
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --call-graph lbr
  gosym: error: --call-graph: 'lbr' is not fp, auto or dwarf
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --call-graph dwarf,65528
  gosym: error: --call-graph: size '65528' is not between 1024 and 32768
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --call-graph fp,8192
  gosym: error: --call-graph: fp takes no size
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --user-only --kernel-only
  gosym: error: -U and -K exclude one another
  gosym: hint: see 'gosym record --help'
  [2]


What begins with a dash is no command, and a command's output is its own.

  $ gosym record --frob -- true
  gosym: error: unknown option '--frob'
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -e wall -F 5000 -- true; gosym record -e wall -F 50 --wall=0 -- true
  gosym: error: --freq: '5000' is not between 1 and 1,000 looks a second
  gosym: hint: see 'gosym record --help'
  gosym: error: --wall: '0' is not between 1 and 1,000 looks a second
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --freq -5
  gosym: error: --freq: '-5' is not a whole number from 1 to 1,000,000
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -o - -- true
  gosym: error: -o -: standard output is the command's; name a file
  gosym: hint: see 'gosym record --help'
  [2]
