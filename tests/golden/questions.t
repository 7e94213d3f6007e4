What people ask of a profile: one command each, and its answer for programs that nobody here wrote
(recordings/make.py). Which instruction is hot needs the program: `gosym annotate`, tests/live/annotate.py.

Who calls malloc, in redis?

  $ gosym report --callers '^malloc$' --depth 3 --min 10 redis.html | sed -n '/^callers/,/^$/p; /^total/,/^$/p'
  callers of malloc: 0.33 % of the total, 0.02 s

  total %  function
     0.28  ├─ zmalloc
     0.13  │  ├─ processMultibulkBuffer
     0.13  │  │  processInputBuffer
     0.09  │  ├─ createEmbeddedStringObject
     0.09  │  │  processMultibulkBuffer
     0.06  │  └─ listAddNodeHead
     0.06  │     prepareClientToWrite
     0.06  └─ zmalloc_usable
     0.06     _sdsnewlen
     0.04     createStringObject
  77 smaller, or deeper, calls are left out; --min 0 without --depth shows all

Where do page faults come from, in prometheus: what of it makes the runtime touch new memory?

  $ gosym report --hide '^runtime[./]' --top 8 faults.html | sed -n '/^self/,$p'
  self %   self  total %  total  function                                                  hottest line
   15.89  1,232    31.99  2,480  github.com/prometheus/client_golang/prometheus.(*Registry).Gather  github.com/prometheus/client_golang/prometheus/registry.go:422
   10.01    776    32.87  2,548  github.com/prometheus/prometheus/promql.(*evaluator).rangeEval  github.com/prometheus/prometheus/promql/engine.go:1098
    9.13    708     9.13    708  go.opentelemetry.io/otel/trace.NewTracerConfig            go.opentelemetry.io/otel/trace/config.go:42
    8.41    652     8.41    652  compress/flate.NewWriter                                  compress/flate/deflate.go:666
    7.64    592    14.45  1,120  github.com/prometheus/client_golang/prometheus.processMetric  github.com/prometheus/client_golang/prometheus/registry.go:632
    3.41    264     3.41    264  golang.org/x/net/trace.NewEventLog                        golang.org/x/net/trace/events.go:137
    2.99    232     2.99    232  github.com/prometheus/prometheus/tsdb.(*blockSeriesSet).At  github.com/prometheus/prometheus/tsdb/querier.go:909
    2.58    200     2.58    200  github.com/prometheus/prometheus/model/labels.NewBuilder  github.com/prometheus/prometheus/model/labels/labels.go:469
  8 of 286 functions; --top 0 shows all

  total %  self %  function
    82.61    0.41  ├─ http.(*conn).serve > http.serverHandler.ServeHTTP > http.HandlerFunc.ServeHTTP > web.withStackTracer.func1 > http.(*ServeMux).ServeHTTP
    40.97    0.00  │  ├─ route.(*Router).ServeHTTP > httprouter.(*Router).ServeHTTP > … 11 calls … > http.HandlerFunc.ServeHTTP > promhttp.HandlerForTransactional.func1
    31.99   15.89  │  │  ├─ prometheus.(*noTransactionGatherer).Gather > prometheus.(*Registry).Gather
    14.45    7.64  │  │  │  github.com/prometheus/client_golang/prometheus.processMetric
     8.57    8.41  │  │  └─ expfmt.encoderCloser.Encode > expfmt.NewEncoder.func7 > … 3 calls … > gzip.(*Writer).Write > flate.NewWriter
    40.25    0.10  │  └─ http.HandlerFunc.ServeHTTP > http.StripPrefix.func1 > … 12 calls … > http.HandlerFunc.ServeHTTP > v1.(*API).Register.func1.1
    36.95    0.05  │     v1.(*API).Register.func2.1 > v1.(*API).query
    35.04    0.26  │     promql.(*query).Exec > promql.(*Engine).exec > promql.(*Engine).execEvalStmt
    32.87   10.01  │     promql.(*evaluator).Eval > promql.(*evaluator).eval ×2 > promql.(*evaluator).rangeEval ×2
    22.08    1.03  │     github.com/prometheus/prometheus/promql.(*evaluator).eval
     9.08    9.08  │     otel.Tracer > global.(*tracerProvider).Tracer > trace.NewTracerConfig
    12.23    0.00  └─ github.com/prometheus/client_golang/prometheus.(*Registry).Gather.func1
  the largest paths; --tree shows all calls
  $ gosym report --callers '^runtime.memclrNoHeapPointers$' --depth 4 --min 8 faults.html | tail -n +6
  callers of runtime.memclrNoHeapPointers: 78.84 % of the total, 6,288 events

  total %  function
    78.69  runtime.mallocgc
    30.44  ├─ runtime.newobject
     8.17  │  ├─ compress/flate.NewWriter
     8.17  │  │  compress/gzip.(*Writer).Write
     7.22  │  └─ github.com/prometheus/client_golang/prometheus.processMetric
     7.22  │     github.com/prometheus/client_golang/prometheus.(*Registry).Gather
    22.17  ├─ runtime.makeslice
    12.09  ├─ runtime.makechan
    11.89  │  github.com/prometheus/client_golang/prometheus.(*Registry).Gather
    11.89  │  github.com/prometheus/client_golang/prometheus.(*noTransactionGatherer).Gather
     8.02  └─ runtime.newarray
     8.02     runtime.makeBucketArray
     6.82     runtime.makemap
  3,345 smaller, or deeper, calls are left out; --min 0 without --depth shows all

Which package?

  $ gosym report --by package --top 10 prometheus.html | sed -n '/^self/,$p'
  self %  self s  total %  total s  package
   50.25    3.10   100.00     6.17  runtime
   14.57    0.90    14.57     0.90  [kernel]
    3.76    0.23    34.04     2.10  github.com/prometheus/client_golang/prometheus
    2.62    0.16     3.27     0.20  strconv
    2.13    0.13    66.61     4.11  net/http
    1.96    0.12     4.58     0.28  fmt
    1.96    0.12     3.76     0.23  sort
    1.80    0.11    11.46     0.71  github.com/prometheus/common/expfmt
    1.80    0.11     9.82     0.61  bufio
    1.64    0.10     3.11     0.19  sync
  10 of 67 rows; --top 0 shows all

Which category: is it garbage collection, or the network? Nearly all has one.

  $ gosym report --by category --top 12 prometheus.html | sed -n '/^self/,$p'
  self %  self s  total %  total s  category
   13.75    0.85    23.40     1.44  garbage collection
    8.84    0.55    21.44     1.32  allocation
    8.67    0.54    18.33     1.13  strings and memory
    8.67    0.54     9.17     0.57  stacks, defer, panic
    5.89    0.36     6.87     0.42  locks
    4.58    0.28     7.04     0.43  formatting and logging
    4.42    0.27    66.61     4.11  network and HTTP
    3.93    0.24     5.24     0.32  kernel: network
    3.76    0.23    34.04     2.10  github.com/prometheus/client_golang/prometheus
    3.60    0.22     7.53     0.46  maps
    3.44    0.21     7.53     0.46  kernel: files and disks
    2.95    0.18     2.95     0.18  kernel: scheduling
  12 of 61 rows; --top 0 shows all
  $ for service in prometheus nats; do gosym report -q --by category --csv $service.html |
  >   awk -F, -v service=$service '/other"?$/ { other += $2 } { all += $2 }
  >     END { printf "%.1f %% of %s is other\n", 100 * other / all, service }'; done
  0.3 % of prometheus is other
  0.0 % of nats is other

Which label?

  $ gosym report --by label:stream nats.html | sed -n '/^self/,/^$/p'
  self %  self s  total %  total s  label:stream
   61.04    1.54    61.04     1.54  (none)
   38.96    0.98    38.96     0.98  orders
  $ gosym report --label stream=orders --by package --top 5 nats.html | sed -n '/^self/,/^$/p'
  self %  self ms  total %  total ms  package
   38.14    373.7   100.00     979.8  runtime
   12.37    121.2    15.46     151.5  internal/runtime/maps
   11.34    111.1    11.34     111.1  [kernel]
    9.28     90.9    18.56     181.8  sync
    8.25     80.8     8.25      80.8  sync/atomic
  5 of 14 rows; --top 0 shows all
  $ gosym report --by label:tenant nats.html
  gosym: error: no sample has a label 'tenant'
  gosym: hint: labels are account, stream
  [5]

Which thread?

  $ gosym report --by thread,category --top 3 prometheus.html | sed -n '/^self/,$p'
  self %  self s  total %  total s  thread / category
   23.73    1.46    23.73     1.46  prometheus (25345)
    3.76    0.23     6.06     0.37    garbage collection
    2.62    0.16     2.62     0.16    stacks, defer, panic
    2.13    0.13     5.40     0.33    allocation
   20.46    1.26    20.46     1.26  prometheus (25350)
    2.29    0.14     4.42     0.27    garbage collection
    2.29    0.14     3.76     0.23    strings and memory
    1.80    0.11     4.26     0.26    allocation
   19.48    1.20    19.48     1.20  prometheus (25369)
    2.78    0.17     4.91     0.30    garbage collection
    2.45    0.15     5.07     0.31    allocation
    2.13    0.13     3.93     0.24    strings and memory
  3 of 6 rows; --top 0 shows all

Which line?

  $ gosym report --by line --focus promql --top 5 prometheus.html | sed -n '/^self/,$p'
  self %  self s  total %  total s  line
    1.82    0.02    27.27     0.30  runtime.newobject malloc.go:1202
    1.82    0.02     2.73     0.03  runtime.mapaccess2 map.go:478
    1.82    0.02     1.82     0.02  runtime.adjustframe stack.go:728
    1.82    0.02     1.82     0.02  runtime.findfunc symtab.go:848
    1.82    0.02     1.82     0.02  runtime.getStackMap stack.go:1321
  5 of 375 rows; --top 0 shows all

  few        110 samples: shares are rough; record longer, or at a higher rate
  $ gosym report --lines '^runtime\.scanobject$' prometheus.html | sed -n '/^runtime/,$p'
  gosym: warning: source not found: runtime/mgcmark.go (--source DIR looks below DIR)
  runtime.scanobject  self 0.25 s (4.1 %), total 0.46 s (7.5 %)
     self s      %  total s      %  runtime/mgcmark.go
                       0.02    0.3    1268
                                       ...
       0.01    0.2     0.01    0.2    1270
                                       ...
       0.01    0.2     0.04    0.7    1312
                                       ...
                       0.03    0.5    1314
       0.03    0.5     0.03    0.5    1315
                                       ...
       0.01    0.2     0.01    0.2    1318
                                       ...
       0.16    2.6     0.16    2.6  > 1324
                                       ...
       0.01    0.2     0.01    0.2    1328
                                       ...
                       0.04    0.7    1338
                       0.09    1.5    1339
                                       ...
       0.02    0.3     0.02    0.3    1345

Which program of a busy machine, and what in it?

  $ gosym report --by comm --top 5 machine.html | sed -n '/^self/,$p'
  self %  self s  total %  total s  comm
   32.43    3.88    32.43     3.88  cc1plus
   31.67    3.79    31.67     3.79  prometheus
   18.16    2.17    18.16     2.17  python3
    9.63    1.15     9.63     1.15  find
    4.22    0.51     4.22     0.51  gzip
  5 of 12 rows; --top 0 shows all

  unnamed    20.7 % of the samples, 10.7 % in [stripped cc1plus]: install g++-12-dbgsym, or see --debug-dir; -v lists all
  $ gosym report --by module,function --top 2 machine.html | sed -n '/^self/,$p'
  self %  self s  total %  total s  module / function     hottest line
   27.20    3.25    32.26     3.86  cc1plus
    0.68    0.08     0.76     0.09    bitmap_set_bit      cc1plus
    0.59    0.07     0.68     0.08    ggc_internal_alloc  cc1plus
   25.68    3.07    31.67     3.79  prometheus
    1.18    0.14     5.57     0.67    runtime.mallocgc    runtime/malloc.go:1087
    1.10    0.13     1.35     0.16    runtime.step        runtime/symtab.go:1121
  2 of 17 rows; --top 0 shows all

  unnamed    20.7 % of the samples, 10.7 % in [stripped cc1plus]: install g++-12-dbgsym, or see --debug-dir; -v lists all

Who makes the garbage collector work, in prometheus?

  $ gosym report --charge-gc --callers '^runtime.gc .estimated' --depth 3 --min 10 prometheus.html | sed -n '6,$p'
  estimate   garbage collection is charged to stacks that allocate, by their time in runtime.mallocgc

  callers of runtime.gc (estimated share): 11.95 % of the total, 0.74 s

  total %  function
    11.95  runtime.mallocgc
     6.22  ├─ runtime.newobject
     2.29  │  go.opentelemetry.io/otel/trace.NewTracerConfig
     1.64  └─ runtime.makeslice
  1,017 smaller, or deeper, calls are left out; --min 0 without --depth shows all
