# bash completion for gosym

# Offers those of the words, of which none needs quoting, that begin with what is typed. In a list, `a,b`,
# that is what follows the last comma.
_gosym_words() {
  local before= word
  case $current in *,*) before=${current%,*}, ;; esac
  for word in $1; do
    if [[ $before$word == "$current"* ]]; then COMPREPLY+=("$before$word"); fi
  done
}

# Offers names that anybody may have chosen, e.g. `$(reboot)`: they are given to nothing that expands text,
# as compgen -W does, and what is offered stands for the name alone, for it becomes part of a command.
# Those that have to be written as $'...' are left out, and between quotes all that need any: readline puts
# what is offered behind the opening quote.
_gosym_names() {
  local name quoted
  for name; do
    printf -v quoted %q "$name"
    case $current in
      [\"\']*) if [[ $quoted == "$name" && $name == "${current:1}"* ]]; then COMPREPLY+=("$name"); fi ;;
      *) if [[ $quoted != \$* && $quoted == "$current"* ]]; then COMPREPLY+=("$quoted"); fi ;;
    esac
  done
}

_gosym_pids() {
  local processes=(/proc/[0-9]*)
  _gosym_words "${processes[*]#/proc/}"
}

_gosym_comms() {
  local file name names=()
  for file in /proc/[0-9]*/comm; do
    name=
    IFS= read -r -d '' name < "$file"
    if [[ $name ]]; then names+=("${name%$'\n'}"); fi
  done 2> /dev/null
  _gosym_names "${names[@]}"
}

_gosym_users() {
  local names
  mapfile -t names < <(compgen -u)
  _gosym_names "${names[@]}"
}

# Leaves it to readline, which quotes file names.
_gosym_folders() { compopt -o dirnames 2> /dev/null; }
_gosym_files() { compopt -o default 2> /dev/null; }

_gosym() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} options IFS=$' \t\n'
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    _gosym_words "record report top diff goroutines heap archive index inspect resolve annotate snapshot doctor help -h --help --version --licenses"
    return
  fi

  case $command in
    record)
      options="-h --help -p --pid --comm -u --user -a --all -t --tid --cgroup -C --cpu -e --event -c --count
        -f -m -z
        -F --freq -d --duration --max-size --max-loss -o --output --runs --rotate --keep --last --when --metrics --host-root -U --user-only -g -K
        --kernel-only --no-inherit --call-graph --off-cpu --archive --archive-data --sampler --wall
        -v --verbose -q --quiet"
      ;;
    report)
      options="-h --help -i --input -g --tree -G --inverted --callers --callees --lines -s --by
        --sort --children --no-children -n --show-nr-samples --stdio --top --min --percent-limit --depth --fold-recursion
        -S --focus
        --ignore -d --module --hide --show --mine --no-kernel --no-inlines --creators --charge-gc --idle --json --md --csv --folded
        --pprof --html --html-source --source --svg --script --firefox --speedscope -f --format -o --output --color --no-pager --pid --tid -c --comm --cgroup --event
        --label --goid --time --align --since --until --host --service --container --pod --side --demangle --debug-dir --symfs --debuginfod --no-debuginfod
        --wrappers --needs --strict --max-loss -v --verbose -q --quiet"
      ;;
    top)
      options="-h --help -p --pid --comm -u --user -a --all -t --tid --cgroup -C --cpu -e --event
        -c --count -F --freq -U --user-only -K --kernel-only --no-inherit --call-graph --sampler
        --tree --inverted --callers --callees --lines --by --sort --children --no-children -n --show-nr-samples
        --top --min --percent-limit --depth --fold-recursion --focus --ignore --module --hide --show --mine --no-kernel
        --no-inlines --demangle --wrappers --debug-dir --symfs --debuginfod --no-debuginfod
        --accumulate --interval --window -b --batch -n --iterations -d --duration --save --archive --archive-data
        --color
        -v --verbose -q --quiet"
      ;;
    diff)
      options="-h --help -g --tree --min --percent-limit --depth -s --by --sort --children --top
        --per --confidence --fail-above --event --pid
        --tid -c --comm --cgroup --label --time --align --since --until --host --service --container --pod --spans -S --focus --ignore -d --module --hide
        --show --mine --no-kernel --no-inlines -o --output --json --md --folded --pprof --html --color --no-pager
        --demangle --wrappers --debug-dir --symfs --debuginfod --no-debuginfod --after -v --verbose -q --quiet"
      ;;
    archive)
      options="-h --help --archive-data --symfs -q --quiet"
      ;;
    index)
      options="-h --help -o --output --store -q --quiet --debug-dir --symfs --debuginfod --no-debuginfod"
      ;;
    inspect)
      options="-h --help --build-info --check --files --function --functions --header --json
        --module-data --sections --sort --debug-dir --symfs --debuginfod --no-debuginfod"
      ;;
    resolve)
      options="-h --help -p --pid --json --no-inlines --wrappers -s --basenames -e --exe -a -C -f
        -i --filter --store --build-ids --demangle --debug-dir --symfs --debuginfod --no-debuginfod"
      ;;
    annotate)
      options="-h --help --event --source --syntax --demangle --color --no-pager --debug-dir --symfs
        --debuginfod --no-debuginfod"
      ;;
    goroutines)
      options="-h --help -p --pid --all --by --folded --html --json --pprof --system --state --focus --label --older --watch --leaks
        --interval -n --iterations"
      ;;
    heap)
      options="-h --help -p --pid --inuse --alloc --block --classes --growth --interval -n --iterations --mutex --summary --objects --system -g --tree -G --inverted --callers --callees --lines
        -s --by --sort --top --min --percent-limit --depth --fold-recursion -S --focus --ignore --hide --show --json
        --folded --pprof --html --color"
      ;;
    snapshot) options="-h --help" ;;
    doctor) options="-h --help" ;;
    help)
      _gosym_words "record report top diff goroutines heap archive index inspect resolve annotate snapshot doctor"
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
    diff:--since | diff:--until | diff:--host | diff:--service | diff:--container | diff:--pod) command=report ;;
    diff:--show | diff:--color | diff:--demangle | diff:--debug-dir | diff:--symfs) command=report ;;
    heap:-[sS] | heap:--by | heap:--sort | heap:--color | heap:--callers | heap:--callees | heap:--lines) command=report ;;
    heap:--focus | heap:--ignore | heap:--hide | heap:--show | heap:--top | heap:--min) command=report ;;
    heap:--percent-limit | heap:--depth) command=report ;;
    top:-[pFeud] | top:--pid | top:--freq | top:--event | top:--user | top:--comm) command=record ;;
    top:--cgroup | top:--call-graph | top:--archive | top:--archive-data | top:--sampler | top:--duration) command=record ;;
  esac
  case $command:$previous in
    diff:--per) _gosym_words "share second run" ;;
    diff:-s | diff:--by)
      _gosym_words "function line file module package category address process program thread comm label: cgroup container goroutine cpu host state waker"
      ;;
    diff:--sort) _gosym_words "self total" ;;
    diff:--confidence | diff:--fail-above) ;;
    goroutines:-p | goroutines:--pid | heap:-p | heap:--pid) _gosym_pids ;;
    goroutines:--by) _gosym_words "state function creator label:" ;;
    goroutines:--watch | goroutines:--interval | heap:--interval) _gosym_words "1s 10s 1m" ;;
    goroutines:-n | goroutines:--iterations | heap:-n | heap:--iterations) ;;
    goroutines:--older) _gosym_words "1m 5m 1h" ;;
    goroutines:--state | goroutines:--focus | goroutines:--label) ;;
    top:--interval) _gosym_words "500ms 1s 2s" ;;
    top:--window) _gosym_words "10s 30s 1m" ;;
    top:-n | top:--iterations) ;;
    record:-p | record:--pid | report:--pid | resolve:-p | resolve:--pid) _gosym_pids ;;
    record:-F | record:--freq) _gosym_words "99 499 999" ;;
    record:-e | record:--event | report:--event | annotate:--event) _gosym_words "cpu-clock task-clock page-faults context-switches cpu-migrations cycles instructions cache-misses branch-misses" ;;
    record:-u | record:--user) _gosym_users ;;
    record:--comm) _gosym_comms ;;
    record:--cgroup) _gosym_folders ;;
    record:--call-graph) _gosym_words "auto fp dwarf" ;;
    record:--archive) _gosym_words "auto all none" ;;
    record:--archive-data | archive:--archive-data) _gosym_words "yes no" ;;
    record:--sampler) _gosym_words "auto bpf perf" ;;
    record:--host-root) _gosym_folders ;;
    record:--when) ;;
    record:--metrics) _gosym_files ;;
    record:--rotate | record:--last) _gosym_words "60s 5m" ;;
    record:--keep) _gosym_words "24h 7d 10G" ;;
    diff:--spans) ;;
    report:--since | report:--until) _gosym_words "-10m -1h" ;;
    report:--host | report:--service | report:--container | report:--pod) ;;
    record:-d | record:--duration) _gosym_words "10s 30s 1m" ;;
    report:-f | report:--format)
      _gosym_words "text csv md json folded pprof html svg firefox speedscope script"
      ;;
    report:-s | report:--by)
      _gosym_words "function line file module package category address process program thread comm label: cgroup container goroutine cpu time host recording state waker"
      ;;
    report:--side) _gosym_words "before after" ;;
    report:--sort) _gosym_words "self total name" ;;
    report:--color | annotate:--color) _gosym_words "auto always never" ;;
    report:--top | report:--tid | report:-c | report:--comm | report:--label | report:--time) ;;
    report:--callers | report:--callees | report:--lines | report:-S | report:--focus) ;;
    report:--ignore | report:-d | report:--module | report:--hide | report:--show) ;;
    report:--min | report:--percent-limit | report:--depth | inspect:--function) ;;
    report:--demangle | resolve:--demangle | annotate:--demangle)
      _gosym_words "short full none"
      ;;
    report:--debug-dir | report:--symfs | archive:--symfs | resolve:--debug-dir | \
      resolve:--symfs | resolve:--store | index:--store | index:--debug-dir | index:--symfs | annotate:--debug-dir | annotate:--symfs | annotate:--source | \
      report:--source)
      _gosym_folders
      ;;
    annotate:--syntax) _gosym_words "att intel" ;;
    inspect:--sort) _gosym_words "address size name" ;;
    *)
      if [[ $current == -* ]]; then
        _gosym_words "$options"
      else
        _gosym_files
      fi
      ;;
  esac
}

complete -F _gosym gosym
