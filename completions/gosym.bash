# bash completion for gosym

_gosym_pids() {
  local before=
  case $1 in *,*) before=${1%,*}, ;; esac
  COMPREPLY=($(cd /proc && compgen -P "$before" -W "$(echo [0-9]*)" -- "${1##*,}"))
}

_gosym() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} options
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "record report top diff goroutines archive inspect resolve annotate doctor help -h --help --version" -- "$current"))
    return
  fi

  case $command in
    record)
      options="-h --help -p --pid --comm -u --user -a --all -t --tid --cgroup -C --cpu -e --event -c --count
        -f -m -z
        -F --freq -d --duration --max-size --max-loss -o --output -U --user-only -g -K
        --kernel-only --no-inherit --call-graph --off-cpu --archive --sampler --wall -v --verbose -q --quiet"
      ;;
    report)
      options="-h --help -i --input -g --tree -G --inverted --callers --callees --lines -s --by
        --sort --children --no-children -n --show-nr-samples --stdio --top --min --percent-limit --depth -S --focus
        --ignore -d --module --hide --show --no-kernel --no-inlines --creators --charge-gc --json --md --csv --folded
        --pprof --html --svg -f --format -o --output --color --no-pager --pid --tid -c --comm --cgroup --event
        --label --goid --time --side --demangle --debug-dir --symfs --debuginfod --no-debuginfod
        --wrappers --strict --max-loss -v --verbose -q --quiet"
      ;;
    top)
      options="-h --help -p --pid --comm -u --user -a --all -t --tid --cgroup -C --cpu -e --event
        -c --count -F --freq -U --user-only -K --kernel-only --no-inherit --call-graph --sampler
        --tree --inverted --callers --callees --lines --by --sort --children --no-children -n --show-nr-samples
        --top --min --percent-limit --depth --focus --ignore --module --hide --show --no-kernel
        --no-inlines --demangle --wrappers --debug-dir --symfs --debuginfod --no-debuginfod
        --accumulate --interval --window -b --batch -n --iterations -d --duration --save --archive --color
        -v --verbose -q --quiet"
      ;;
    diff)
      options="-h --help -g --tree --min --percent-limit --depth -s --by --sort --children --top
        --per --confidence --fail-above --event --pid
        --tid -c --comm --cgroup --label --time -S --focus --ignore -d --module --hide --show
        --no-kernel --no-inlines -o --output --json --md --folded --pprof --html --color --no-pager
        --demangle --wrappers --debug-dir --symfs --debuginfod --no-debuginfod --after -q --quiet"
      ;;
    archive)
      options="-h --help --symfs -q --quiet"
      ;;
    inspect)
      options="-h --help --build-info --check --files --function --functions --header --json
        --module-data --sections --sort --debug-dir --symfs --debuginfod --no-debuginfod"
      ;;
    resolve)
      options="-h --help -p --pid --json --no-inlines --wrappers -s --basenames -e --exe -a -C -f
        -i --filter --demangle --debug-dir --symfs --debuginfod --no-debuginfod"
      ;;
    annotate)
      options="-h --help --event --source --syntax --demangle --color --no-pager --debug-dir --symfs
        --debuginfod --no-debuginfod"
      ;;
    goroutines)
      options="-h --help --all --by --folded --html --json --pprof --system --state --focus --label --older --watch -n
        --iterations"
      ;;
    doctor) options="-h --help" ;;
    help)
      COMPREPLY=($(compgen -W "record report top diff goroutines archive inspect resolve annotate doctor" -- "$current"))
      return
      ;;
    *) return ;;
  esac

  # What it has in common with the others is completed as there.
  case $command:$previous in
    top:--by | top:--sort | top:--color | top:--callers | top:--callees | top:--lines) command=report ;;
    top:--focus | top:--ignore | top:--module | top:--hide | top:--show) command=report ;;
    top:--top | top:--min | top:--percent-limit | top:--depth | top:--demangle) command=report ;;
    top:--debug-dir | top:--symfs) command=report ;;
    diff:--min | diff:--percent-limit | diff:--depth) command=report ;;
    diff:-[cSd] | diff:--top | diff:--event | diff:--pid | diff:--tid | diff:--comm) command=report ;;
    diff:--label | diff:--time | diff:--focus | diff:--ignore | diff:--module | diff:--hide) command=report ;;
    diff:--show | diff:--color | diff:--demangle | diff:--debug-dir | diff:--symfs) command=report ;;
    top:-[pFeud] | top:--pid | top:--freq | top:--event | top:--user | top:--comm) command=record ;;
    top:--cgroup | top:--call-graph | top:--archive | top:--sampler | top:--duration) command=record ;;
  esac
  case $command:$previous in
    diff:--per) COMPREPLY=($(compgen -W "share second run" -- "$current")) ;;
    diff:-s | diff:--by)
      COMPREPLY=($(compgen -W "function line file module package category address process thread comm label: cgroup container goroutine cpu host state waker" -- "$current"))
      ;;
    diff:--sort) COMPREPLY=($(compgen -W "self total" -- "$current")) ;;
    diff:--confidence | diff:--fail-above) ;;
    goroutines:--by) COMPREPLY=($(compgen -W "state function creator label:" -- "$current")) ;;
    goroutines:--watch) COMPREPLY=($(compgen -W "1s 10s 1m" -- "$current")) ;;
    goroutines:-n | goroutines:--iterations) ;;
    goroutines:--older) COMPREPLY=($(compgen -W "1m 5m 1h" -- "$current")) ;;
    goroutines:--state | goroutines:--focus | goroutines:--label) ;;
    top:--interval) COMPREPLY=($(compgen -W "500ms 1s 2s" -- "$current")) ;;
    top:--window) COMPREPLY=($(compgen -W "10s 30s 1m" -- "$current")) ;;
    top:-n | top:--iterations) ;;
    record:-p | record:--pid | report:--pid | resolve:-p | resolve:--pid) _gosym_pids "$current" ;;
    record:-F | record:--freq) COMPREPLY=($(compgen -W "99 499 999" -- "$current")) ;;
    record:-e | record:--event | report:--event | annotate:--event) COMPREPLY=($(compgen -W "cpu-clock task-clock page-faults context-switches cpu-migrations cycles instructions cache-misses branch-misses" -- "$current")) ;;
    record:-u | record:--user) COMPREPLY=($(compgen -u -- "$current")) ;;
    record:--comm) COMPREPLY=($(compgen -W "$(ps -eo comm= 2> /dev/null)" -- "$current")) ;;
    record:--cgroup) COMPREPLY=($(compgen -d -- "$current")) ;;
    record:--call-graph) COMPREPLY=($(compgen -W "auto fp dwarf" -- "$current")) ;;
    record:--archive) COMPREPLY=($(compgen -W "auto all none" -- "$current")) ;;
    record:--sampler) COMPREPLY=($(compgen -W "auto bpf perf" -- "$current")) ;;
    record:-d | record:--duration) COMPREPLY=($(compgen -W "10s 30s 1m" -- "$current")) ;;
    report:-f | report:--format)
      COMPREPLY=($(compgen -W "text csv md json folded pprof html svg" -- "$current"))
      ;;
    report:-s | report:--by)
      COMPREPLY=($(compgen -W "function line file module package category address process thread comm label: cgroup container goroutine cpu time host recording state waker" -- "${current##*,}"))
      ;;
    report:--side) COMPREPLY=($(compgen -W "before after" -- "$current")) ;;
    report:--sort) COMPREPLY=($(compgen -W "self total name" -- "$current")) ;;
    report:--color | annotate:--color) COMPREPLY=($(compgen -W "auto always never" -- "$current")) ;;
    report:--top | report:--tid | report:-c | report:--comm | report:--label | report:--time) ;;
    report:--callers | report:--callees | report:--lines | report:-S | report:--focus) ;;
    report:--ignore | report:-d | report:--module | report:--hide | report:--show) ;;
    report:--min | report:--percent-limit | report:--depth | inspect:--function) ;;
    report:--demangle | resolve:--demangle | annotate:--demangle)
      COMPREPLY=($(compgen -W "short full none" -- "$current"))
      ;;
    report:--debug-dir | report:--symfs | archive:--symfs | resolve:--debug-dir | \
      resolve:--symfs | annotate:--debug-dir | annotate:--symfs | annotate:--source)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -d -- "$current"))
      ;;
    annotate:--syntax) COMPREPLY=($(compgen -W "att intel" -- "$current")) ;;
    inspect:--sort) COMPREPLY=($(compgen -W "address size name" -- "$current")) ;;
    *)
      if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
      else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$current"))
      fi
      ;;
  esac
}

complete -F _gosym gosym
