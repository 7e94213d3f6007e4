What people type who know perf and pprof. Some of it works; the rest is answered with what does the same.

  $ cat >tell <<'END'
  > while read -r line; do
  >   printf '%-32s %s\n' "$line" "$(gosym $line 2>&1 </dev/null | sed -n 's/^gosym: hint: //p')"
  > done
  > END

Of pprof.

  $ bash tell <<'END'
  > pprof cpu.pb.gz
  > report -peek=main
  > report -web
  > report -http=:8080
  > report -weblist=main
  > report -disasm=main
  > report -traces
  > report -tags
  > report -tagfocus=tenant=t1
  > report -tagroot=tenant
  > report -base=old.pb.gz
  > report -diff_base=old.pb.gz
  > report -normalize
  > report -nodefraction=0.01
  > report -granularity=lines
  > report -show_from=main
  > report -seconds=10
  > report -alloc_space
  > report -callgrind
  > report -intel_syntax
  > END
  pprof cpu.pb.gz                  in gosym: gosym report --pprof FILE, then go tool pprof -http=: FILE
  report -peek=main                in gosym: --callers RE, and --callees RE
  report -web                      in gosym: --pprof FILE, then go tool pprof -http=: FILE
  report -http=:8080               in gosym: --pprof FILE, then go tool pprof -http=: FILE
  report -weblist=main             in gosym: gosym annotate FILE FUNC
  report -disasm=main              in gosym: gosym annotate FILE FUNC
  report -traces                   in gosym: --folded
  report -tags                     in gosym: -v, which lists labels, and --by label:KEY
  report -tagfocus=tenant=t1       in gosym: --label KEY=VALUE
  report -tagroot=tenant           in gosym: --tree --by label:KEY
  report -base=old.pb.gz           in gosym: gosym diff BEFORE AFTER
  report -diff_base=old.pb.gz      in gosym: gosym diff BEFORE AFTER
  report -normalize                in gosym: gosym diff BEFORE AFTER
  report -nodefraction=0.01        in gosym: --min PERCENT
  report -granularity=lines        in gosym: --by function, line, file or address
  report -show_from=main           in gosym: --callees RE
  report -seconds=10               in gosym: gosym record -d SECONDS
  report -alloc_space              in gosym: --event NAME
  report -callgrind                in gosym: --pprof FILE, then go tool pprof -callgrind FILE
  report -intel_syntax             in gosym: gosym annotate --syntax intel

Of perf.

  $ bash tell <<'END'
  > script
  > stat -p 4242
  > list
  > sched record
  > buildid-list
  > report -F overhead,sym
  > report --percentage relative
  > report --hierarchy
  > report -p main
  > report -C 0
  > report -w 10,20
  > report --tasks
  > report --branch-history
  > record --switch-output
  > record -b
  > record -D 1000 -a
  > record -e cycles:u -a
  > record -k mono -a
  > record --call-graph=lbr
  > top -s sym
  > top --hide_kernel_symbols
  > top -E 10
  > annotate -d libc.so.6 -s malloc
  > END
  script                           in gosym: gosym report --script
  stat -p 4242                     in gosym: nothing that counts without sampling: perf stat
  list                             in gosym: gosym record -e EVENT, any of perf list; gosym doctor says what works here
  sched record                     in gosym: gosym record --off-cpu, then gosym report --event off-cpu
  buildid-list                     in gosym: gosym inspect FILE
  report -F overhead,sym           in gosym: --by KEY and --csv
  report --percentage relative     in gosym: nothing to do: shares are of what is selected
  report --hierarchy               in gosym: --by KEY,KEY
  report -p main                   in gosym: --callers RE
  report -C 0                      in gosym: --by cpu
  report -w 10,20                  in gosym: nothing to do: columns are as wide as their names
  report --tasks                   in gosym: --by process,thread
  report --branch-history          in gosym: nothing here: branches are not sampled
  record --switch-output           in gosym: --max-size SIZE
  record -b                        in gosym: nothing here: branches are not sampled
  record -D 1000 -a                in gosym: sleep SECONDS; gosym record
  record -e cycles:u -a            in gosym: -e cycles --user-only
  record -k mono -a                in gosym: nothing to do: all times are of one clock
  record --call-graph=lbr          in gosym: --call-graph=auto
  top -s sym                       in gosym: --by KEY
  top --hide_kernel_symbols        in gosym: --user-only
  top -E 10                        in gosym: --top N
  annotate -d libc.so.6 -s malloc  in gosym: gosym annotate FILE FUNC

What works has the answer of gosym's own words.

  $ same() { gosym report --stdio --by $2 prometheus.html $3 >one; gosym report --stdio prometheus.html $1 >two; cmp one two && echo "$1"; }
  > same '-filefunctions' file,function; same '-s sym,srcline' function,line
  > same '-noinlines -files' file --no-inlines
  -filefunctions
  -s sym,srcline
  -noinlines -files
  $ gosym report --tree prometheus.html >tree; gosym report --inverted prometheus.html >inverted
  > for words in '-g' '-g caller' '--call-graph graph,0.5,caller' '--call-graph=caller' '-tree' '-call_tree'
  > do gosym report --stdio $words prometheus.html | cmp - tree; done
  > for words in '-G' '-g callee' '--call-graph=graph,0.5,callee'
  > do gosym report --stdio $words prometheus.html | cmp - inverted; done
  $ gosym report --stdio -top -cum -nodecount=3 -focus=promql prometheus.html >one
  > gosym report --stdio --sort total --top 3 --focus promql prometheus.html | cmp - one
  $ gosym annotate -i demo --stdio -l -M intel -s main.main | cmp - <(gosym annotate --syntax intel demo main.main)
