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

What is always on writes into a directory, and says how much of it is kept.

  $ gosym record -a --rotate 60s
  gosym: error: --rotate: into which directory? name it with -o DIR
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --rotate 100ms -o kept
  gosym: error: --rotate: '100ms' is not a time of a second or more, such as 60s or 5m
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --keep 24h -o kept
  gosym: error: --keep is of a directory of recordings: --rotate or --last makes one
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --rotate 60s --keep 24x -o kept
  gosym: error: --keep: '24x' is not a time such as 24h or 7d, or a size such as 10G
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --rotate 60s --last 60s -o kept
  gosym: error: --rotate and --last cannot be used together
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --when 'cpu>80%' -o kept
  gosym: error: --when is of a flight recorder: --last says how much it has
  gosym: hint: see 'gosym record --help'
  [2]

  $ gosym record -a --last 60s --when 'cpu>80' -o kept
  gosym: error: --when: 'cpu>80' is not cpu>80%, psi.cpu.some>30%, cgroup:PATH.cpu>2 or file:PATH
  [2]

  $ gosym snapshot .
  gosym: error: nobody records into '.'
  [5]

  $ gosym report --since 25:00 x.raw
  gosym: error: --since: '25:00' is not a time such as 14:02, 2026-11-22T14:02 or -10m
  gosym: hint: see 'gosym report --help'
  [2]

  $ gosym report --since 2026-11-22 --until 2026-11-21 x.raw
  gosym: error: --since 2026-11-22 is not before --until 2026-11-21
  [2]

  $ gosym diff . --spans 14:00..14:10
  gosym: error: --spans: '14:00..14:10' is not two spans of time such as 14:00..14:10,14:20..14:30
  gosym: hint: see 'gosym diff --help'
  [2]
