What it says of itself.

  $ gosym --version | head -n 1
  gosym 0.1.0

  $ gosym --help
  Profile running programs: Go, stripped and inlined, and all that runs beside it

  Usage: gosym COMMAND [OPTIONS]

  Commands:
    record                    Record samples of running code into a file
    report                    Show the functions that a recording sampled
    top                       Show what uses the CPU now
    diff                      Tell what changed between two recordings
    goroutines                Show where the goroutines of a program wait
    heap                      Show who allocated the memory, and what it is for
    archive                   Put the files that were sampled into a recording
    index                     Write the names of a binary's code as GSYM
    inspect                   Show what symbol information is in a binary
    resolve                   Name addresses of a binary or of a running process
    annotate                  Show a function's instructions and source lines
    snapshot                  Have a flight recorder write what happened last
    push                      Send the recordings of a directory to a server, as
                              they come
    doctor                    Show what can be recorded on this machine
    completion                Write what a shell completes command lines by
    help [COMMAND]            Show this help, or that of a command

  Options:
    -h, --help                Show this help; after a command, that of the command
    --version                 Show the version, and how it was built
    --licenses                Show the licences of gosym and of what is inside it

  Examples:
    gosym record -p 4242 -d 10s     sample a running process into cpu.raw
    gosym report                    name what was sampled: top functions
    gosym top -p 4242               the same while it runs
    gosym diff old.raw new.raw      what changed, and whether it is noise
    gosym goroutines 4242           where the goroutines of a process wait
    gosym heap 4242                 who allocated the memory of a process
    gosym inspect ./server          what symbol information is in a binary
    gosym resolve ./server 4a1b20   name an address of a binary
    gosym doctor                    what can be recorded here, and why not

  $ gosym --licenses | head -n 1
  gosym is licensed under the Apache License 2.0. Its BPF program, which is part of it, is licensed under

A command is needed, and known.

  $ gosym >bare; echo $?; gosym --help | cmp - bare
  2

  $ gosym frobnicate
  gosym: error: unknown command 'frobnicate'
  gosym: hint: see 'gosym --help'
  [2]

What is close to a command or an option was probably meant to be it.

  $ gosym reprot; gosym report --callrs=main cpu.raw; gosym record --frq 99 ls; gosym resolve --jsno demo
  gosym: error: unknown command 'reprot'
  gosym: hint: did you mean report? see 'gosym --help'
  gosym: error: unknown option '--callrs=main'
  gosym: hint: did you mean --callers? see 'gosym report --help'
  gosym: error: unknown option '--frq'
  gosym: hint: did you mean --freq? see 'gosym record --help'
  gosym: error: unknown option '--jsno'
  gosym: hint: did you mean --json? see 'gosym resolve --help'
  [2]

  $ gosym help doctor >help; gosym doctor --help | cmp - help; gosym help | head -1
  Profile running programs: Go, stripped and inlined, and all that runs beside it
  $ gosym help frobnicate
  gosym: error: unknown command 'frobnicate'
  gosym: hint: see 'gosym --help'
  [2]

No line of help is longer than 80 columns in a pipe.

  $ for command in '' record report top diff goroutines heap archive index inspect resolve annotate snapshot push doctor completion; do gosym $command --help; done | awk 'length > 80'

What a shell completes by is written for three of them.

  $ for shell in bash zsh fish; do gosym completion $shell | head -1; done
  # bash completion for gosym
  #compdef gosym
  # fish completion for gosym

  $ gosym completion tcsh
  gosym: error: SHELL: 'tcsh' is not one of bash, zsh, fish
  gosym: hint: see 'gosym completion --help'
  [2]

Each command points to its own help.

  $ gosym resolve
  gosym: error: BINARY is required, or --pid PID
  gosym: hint: see 'gosym resolve --help'
  [2]

  $ gosym resolve --frob demo
  gosym: error: unknown option '--frob'
  gosym: hint: see 'gosym resolve --help'
  [2]

  $ gosym inspect --sort color --functions demo
  gosym: error: --sort: 'color' is not one of address, size, name
  gosym: hint: see 'gosym inspect --help'
  [2]

  $ gosym resolve --symfs nowhere demo 1
  gosym: error: --symfs: 'nowhere' is not a directory
  gosym: hint: see 'gosym resolve --help'
  [2]

  $ gosym resolve --debug-dir nowhere demo 1
  gosym: error: --debug-dir: 'nowhere' is not a directory
  [2]

  $ mkdir -p root/debug; cp demo root; gosym resolve --debug-dir /debug --symfs root /demo 1
  0x1 ?? (not in a code segment)

  $ gosym resolve --debug-dir . --debug-dir /usr --symfs root /demo 1
  gosym: error: --debug-dir: '/usr' is not a directory below that of --symfs
  [2]

  $ gosym report --no-debuginfod --debuginfod=http://localhost:1 made.raw
  gosym: error: --debuginfod and --no-debuginfod cannot be used together
  gosym: hint: see 'gosym report --help'
  [2]
