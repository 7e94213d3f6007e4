Folded text and pprof profiles are read like recordings; their content tells which they are.

  $ printf 'server;main;parse 30\nserver;main;parse;sys_read_[k] 10\nserver;main;idle 60\n' > a.folded
  $ gosym report a.folded
  100 samples
  read       a.folded, folded text

  self %  self  total %  total  function  hottest line
   60.00    60    60.00     60  idle
   30.00    30    40.00     40  parse
   10.00    10    10.00     10  sys_read  [kernel.kallsyms]
    0.00     0   100.00    100  main
    0.00     0   100.00    100  server

  total %  self %  function
   100.00    0.00  server > main
    60.00   60.00  ├─ idle
    40.00   30.00  └─ parse
    10.00   10.00     sys_read

  few        100 samples: shares are rough; record longer, or at a higher rate

  $ gosym report a.folded --folded
  server;main;idle 60
  server;main;parse 30
  server;main;parse;sys_read_[k] 10

  $ gosym report -q a.folded --pprof a.pb.gz && gosym report a.pb.gz --focus parse --folded
  server;main;parse 30
  server;main;parse;sys_read_[k] 10

  $ gzip -dc a.pb.gz | gosym report - --callers sys_read
  100 samples
  read       standard input, a pprof profile

  callers of sys_read: 10.00 % of the total, 10 events

  total %  function
    10.00  parse
    10.00  main
    10.00  server

What they do not know is refused, and so is what does not add up.

  $ gosym report a.folded --by time; gosym report a.folded --time 1,2; gosym report a.folded --comm x
  gosym: error: 'a.folded': folded text has no times of its samples: --by time is for recordings
  gosym: error: 'a.folded': folded text has no times of its samples: --time is for recordings
  gosym: error: 'a.folded': no samples with --comm x
  gosym: hint: gosym report --by comm without filters lists the names of all threads
  [5]

  $ printf 'a 1 2\nb 2 3\n' > two.folded; gosym report two.folded; printf 'a 1\nb\n' | gosym report -
  gosym: error: 'two.folded': folded text: each line ends in two numbers: this is a difference of two profiles
  gosym: error: standard input: folded text: line 2: it does not end in a number: 'b'
  [1]

  $ head -c 100 a.pb.gz > cut.pb.gz; gosym report cut.pb.gz
  gosym: error: 'cut.pb.gz': a pprof profile: gzip: cut short
  [1]

Numbers are compared; what is noise nothing tells in one file of a side.

  $ printf 'server;main;parse 50\nserver;main;idle 50\n' > b.folded
  $ gosym diff a.folded b.folded
  verdict:  none: one file of a side does not tell what is more than noise
  before:   100 samples
  after:    100 samples

  before %  after %  change  +-      verdict  function               hottest line
     30.00    50.00  +20.00   ?  cannot tell  parse
     10.00     0.00  -10.00   ?  cannot tell  sys_read (none after)
     60.00    50.00  -10.00   ?  cannot tell  idle

  $ gosym diff --fail-above 5 a.folded b.folded; gosym diff --per second a.folded b.folded
  verdict:  none: one file of a side does not tell what is more than noise
  before:   100 samples
  after:    100 samples

  before %  after %  change  +-      verdict  function               hottest line
     30.00    50.00  +20.00   ?  cannot tell  parse
     10.00     0.00  -10.00   ?  cannot tell  sys_read (none after)
     60.00    50.00  -10.00   ?  cannot tell  idle
  gosym: error: --fail-above: one file of a side does not tell what is more than noise
  gosym: hint: give several files of each side, with '--' between the sides
  gosym: error: --per second: folded text does not tell how long it took
  [2]

  $ gosym diff a.folded a.pb.gz
  gosym: error: folded text and a pprof profile do not compare: their samples are counted in other ways
  gosym: hint: gosym report --pprof FILE, or --folded, makes both of one kind
  [2]

The same by paths of calls.

  $ gosym diff --tree a.folded b.folded
  verdict:  none: one file of a side does not tell what is more than noise
  before:   100 samples
  after:    100 samples

  before %  after %  change  +-      verdict  function
    100.00   100.00   +0.00   ?  cannot tell  server > main
     60.00    50.00  -10.00   ?  cannot tell  ├─ idle
     40.00    50.00  +10.00   ?  cannot tell  └─ parse
     10.00     0.00  -10.00   ?  cannot tell     sys_read (none after)

  $ gosym diff --tree --by comm a.folded b.folded; gosym diff --tree --top 5 a.folded b.folded
  gosym: error: --tree: calls have no comm: compare them by function, package, module or the like
  gosym: error: --tree and --top cannot be used together
  gosym: hint: see 'gosym diff --help'
  [2]

Several files of a side tell how much they vary.

  $ for i in 1 2 3 4 5; do
  >   printf "f $((500 + i))\ng $((500 - i))\n" > before$i
  >   printf "f $((600 + i))\ng $((500 - i))\n" > after$i
  > done
  $ gosym diff before? -- after?; gosym diff -q --fail-above 5 before? -- after? > text; echo $?
  verdict:  1 dearer, 1 cheaper, of 2 compared by function; most: f, dearer, +9.0 %
  before:   5,000 samples in 5 files
  after:    5,500 samples in 5 files

  before %  after %  change    +-          verdict  function  hottest line
     50.30    54.82   +4.52  2.25   dearer, +9.0 %  f
     49.70    45.18   -4.52  2.25  cheaper, -9.1 %  g
  1

Of a tree, the paths to what changed; of what has not changed, nothing.

  $ for i in 1 2 3 4 5; do
  >   printf "main;serve;parse $((100 + i))\nmain;load;parse $((100 + i))\nmain;load 300\n" > old$i
  >   printf "main;serve;parse $((200 + i))\nmain;load;parse $((100 + i))\nmain;load 300\n" > new$i
  > done
  $ gosym diff --tree old? -- new?; gosym diff --tree old1 old2 -- old3 old4 old5
  verdict:  1 dearer, 2 cheaper, of 3 compared by function; such as: load, cheaper, -17 %
  before:   2,530 samples in 5 files
  after:    3,030 samples in 5 files

  before %  after %  change    +-             verdict  function
    100.00   100.00   +0.00  0.00  no difference seen  main
     79.64    66.50  -13.14  2.78      cheaper, -17 %  ├─ load
     20.36    17.00   -3.36  2.42      cheaper, -17 %  │  parse
     20.36    33.50  +13.14  2.78       dearer, +65 %  └─ serve > parse
  verdict:  nothing changed by more than noise, of 3 compared by function
  before:   1,006 samples in 2 files
  after:    1,524 samples in 3 files
  note: few recordings hardly tell how runs vary: 5 of each do

  $ for i in 1 2 3 4 5; do
  >   printf "main;serve $((100 + i))\nmain;load $((400 + i))\n" > was$i
  >   printf "main;serve $((200 + i))\nmain;load $((300 + i))\n" > is$i
  > done
  $ gosym diff -q --tree --per run was? -- is? | tail -n 5

  before   after   change     +-             verdict  function
  506.00  506.00    +0.00  32.81  no difference seen  main
  403.00  303.00  -100.00  27.40      cheaper, -25 %  ├─ load
  103.00  203.00  +100.00  18.04       dearer, +97 %  └─ serve

  $ gosym diff --tree --md old? -- new? | tail -n 7; gosym diff --tree --json old? -- new? | grep -o '"name":"[^v]*verdict":"[^"]*"'

  | before % | after % | change | +- | verdict | function |
  |--:|--:|--:|--:|--:|---|
  | 100.00 | 100.00 | +0.00 | 0.00 | no difference seen | `main` |
  | 79.64 | 66.50 | -13.14 | 2.78 | cheaper, -17 % | `├─ load` |
  | 20.36 | 17.00 | -3.36 | 2.42 | cheaper, -17 % | `│  parse` |
  | 20.36 | 33.50 | +13.14 | 2.78 | dearer, +65 % | `└─ serve > parse` |
  "name":"main","verdict":"no difference seen"
  "name":"load","parent":0,"verdict":"cheaper"
  "name":"parse","parent":1,"verdict":"cheaper"
  "name":"parse","parent":3,"verdict":"dearer"
