Folded text and pprof profiles are read like recordings; their content tells which they are.

  $ printf 'server;main;parse 30\nserver;main;parse;sys_read_[k] 10\nserver;main;idle 60\n' > a.folded
  $ gosym report a.folded
  100 samples
  read       a.folded, folded text
  
  self %  self  total %  total  function   hottest line
   60.00    60    60.00     60  idle
   30.00    30    40.00     40  parse
   10.00    10    10.00     10  sys_read   [kernel.kallsyms]
    0.00     0   100.00    100  main
    0.00     0   100.00    100  server
  
  few        100 samples: shares are rough; record longer, or with -F 999

  $ gosym report a.folded --folded
  server;main;idle 60
  server;main;parse 30
  server;main;parse;sys_read_[k] 10

  $ gosym report -q a.folded --pprof a.pb.gz && gosym report a.pb.gz --focus parse --folded
  server;main;parse 30
  server;main;parse;sys_read_[k] 10

  $ gzip -dc a.pb.gz | gosym report - --callers sys_read
  x

What they do not know is refused, and so is what does not add up.

  $ gosym report a.folded --by time; gosym report a.folded --time 1,2; gosym report a.folded --comm x
  x

  $ printf 'a 1 2\nb 2 3\n' > two.folded; gosym report two.folded; printf 'a 1\nb\n' | gosym report -
  x

  $ head -c 100 a.pb.gz > cut.pb.gz; gosym report cut.pb.gz
  x

Numbers are compared; what is noise nothing tells in one file of a side.

  $ printf 'server;main;parse 50\nserver;main;idle 50\n' > b.folded
  $ gosym diff a.folded b.folded
  x

  $ gosym diff --fail-above 5 a.folded b.folded; gosym diff --per second a.folded b.folded
  x

  $ gosym diff a.folded a.pb.gz
  x

Several files of a side tell how much they vary.

  $ for i in 1 2 3 4 5; do
  >   printf "f $((500 + i))\ng $((500 - i))\n" > before$i
  >   printf "f $((600 + i))\ng $((500 - i))\n" > after$i
  > done
  $ gosym diff before? -- after?; gosym diff -q --fail-above 5 before? -- after? > text; echo $?
  x
