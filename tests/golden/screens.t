What a terminal shows first of recordings of real programs (recordings/make.py): a service under load, a
compiler without its debug package, and a whole machine that is busy with both.

  $ ./screen 80x24 gosym report --stdio prometheus.html
  611 samples of cpu-clock at 99 Hz: 6.17 s of CPU time in 10.00 s, 0.62 of 2 CPUs
  recorded   2026-11-25T13:47:47Z on build-1 by gosym record -p 25343 -d 10s, Lin…
  processes  prometheus (25343) 100.0 %
  load       ▅▇▆▆▇▅▇▆▆▇▆▇█▇▅█▇▇▅▅▆▇█▆▆▆▅▆▅  each 340 ms, 0.44 to 0.86 CPUs
  own code   14.2 %, and 76.1 % with what it calls, see --mine: packages of prome…

  self %  self s  total %  total s  function                 hottest line
    4.09    0.25     7.53     0.46  runtime.scanobject       mgcmark.go:1324
    2.95    0.18     3.11     0.19  runtime.memmove          memmove_amd64.s:168
    2.62    0.16     2.78     0.17  runtime.step             symtab.go:1121
    2.45    0.15    18.00     1.11  runtime.mallocgc         malloc.go:1009
    2.13    0.13     2.29     0.14  runtime.lock2            lock_futex.go:61
    1.80    0.11     6.71     0.41  runtime.heapBitsSetType  mbitmap.go:879
  6 of 978 functions; --top 0 shows all

  total %  self %  function
    97.05    0.00  runtime.goexit
    60.23    0.00  net/http.(*conn).serve
    51.55    0.00  http.serverHandler.ServeHTTP > … > http.(*ServeMux).ServeHTTP
    29.46    0.33  ├─ rout….ServeHTTP > … > promhttp.HandlerForTransactional.func1
    21.60    0.00  └─ htt…erveHTTP > … > promhttp.Inst…ntHandlerResponseSize.func1
  the largest paths; --tree shows all calls

  $ ./screen 120x40 gosym report --stdio prometheus.html
  611 samples of cpu-clock at 99 Hz: 6.17 s of CPU time in 10.00 s, 0.62 of 2 CPUs
  recorded   2026-11-25T13:47:47Z on build-1 by gosym record -p 25343 -d 10s, Linux 6.18.44-fc-v669 x86_64
  processes  prometheus (25343) 100.0 %
  load       ▄▄▇▅▅▅▄▆▅▅▄▅▆▆▅▆▅▇▄▆▄▆▆▇█▄▆▄▆█▆▅▅▆▄▅▄▄▅▅▆▆▇▆▅▅▅▆▅▃▆▅▆▂▅  each 180 ms, 0.22 to 1.01 CPUs
  own code   14.2 %, and 76.1 % with what it calls, see --mine: packages of prometheus that are not Go's

  self %  self s  total %  total s  function                                             hottest line
    4.09    0.25     7.53     0.46  runtime.scanobject                                   runtime/mgcmark.go:1324
    2.95    0.18     3.11     0.19  runtime.memmove                                      runtime/memmove_amd64.s:168
    2.62    0.16     2.78     0.17  runtime.step                                         runtime/symtab.go:1121
    2.45    0.15    18.00     1.11  runtime.mallocgc                                     runtime/malloc.go:1009
    2.13    0.13     2.29     0.14  runtime.lock2                                        runtime/lock_futex.go:61
    1.80    0.11     6.71     0.41  runtime.heapBitsSetType                              runtime/mbitmap.go:879
    1.80    0.11     1.80     0.11  _raw_spin_unlock_irqrestore                          [kernel.kallsyms]
    1.80    0.11     1.80     0.11  runtime.unlock2                                      runtime/lock_futex.go:116
    1.47    0.09    11.46     0.71  expfmt.MetricFamilyToText                            common/expfmt/text_create.go:132
    1.47    0.09     2.78     0.17  runtime.getStackMap                                  runtime/stack.go:1321
    1.47    0.09     1.96     0.12  runtime.findObject                                   runtime/mbitmap.go:408
    1.47    0.09     1.64     0.10  irqentry_exit_to_user_mode                           [kernel.kallsyms]
    1.47    0.09     1.47     0.09  finish_task_switch.isra.0                            [kernel.kallsyms]
    1.47    0.09     1.47     0.09  runtime.pageIndexOf                                  runtime/mheap.go:696
    1.31    0.08    10.80     0.67  runtime.newobject                                    runtime/malloc.go:1202
    1.31    0.08     1.31     0.08  aeshashbody                                          runtime/asm_amd64.s:1228
  16 of 978 functions; --top 0 shows all

  total %  self %  function
    97.05    0.00  runtime.goexit
    60.23    0.00  ├─ net/http.(*conn).serve
    51.55    0.00  │  http.serverHandler.ServeHTTP > … > http.(*ServeMux).ServeHTTP
    29.46    0.33  │  ├─ route.(*Router).ServeHTTP > … > promhttp.HandlerForTransactional.func1
    16.37    0.16  │  │  prometheus.(*noTransactionGatherer).Gather > prometheus.(*Registry).Gather
    11.78    1.15  │  │  github.com/prometheus/client_golang/prometheus.processMetric
    21.60    0.00  │  └─ http.HandlerFunc.ServeHTTP > … > promhttp.InstrumentHandlerResponseSize.func1
    20.29    0.33  │     http.HandlerFunc.ServeHTTP > … > v1.(*API).Register.func1.1
    18.17    0.00  │     v1.(*API).Register.func2.1 > v1.(*API).query
    13.26    0.00  │     github.com/prometheus/prometheus/promql.(*query).Exec
    16.86    0.00  └─ github.com/prometheus/client_golang/prometheus.(*Registry).Gather.func1
  the largest paths; --tree shows all calls

  $ ./screen 200x50 gosym report --stdio prometheus.html
  611 samples of cpu-clock at 99 Hz: 6.17 s of CPU time in 10.00 s, 0.62 of 2 CPUs
  recorded   2026-11-25T13:47:47Z on build-1 by gosym record -p 25343 -d 10s, Linux 6.18.44-fc-v669 x86_64
  processes  prometheus (25343) 100.0 %
  load       ▄▄▇▅▅▅▄▆▅▅▄▅▆▆▅▆▅▇▄▆▄▆▆▇█▄▆▄▆█▆▅▅▆▄▅▄▄▅▅▆▆▇▆▅▅▅▆▅▃▆▅▆▂▅  each 180 ms, 0.22 to 1.01 CPUs
  own code   14.2 %, and 76.1 % with what it calls, see --mine: packages of prometheus that are not Go's

  self %  self s  total %  total s  function                                                      hottest line
    4.09    0.25     7.53     0.46  runtime.scanobject                                            runtime/mgcmark.go:1324
    2.95    0.18     3.11     0.19  runtime.memmove                                               runtime/memmove_amd64.s:168
    2.62    0.16     2.78     0.17  runtime.step                                                  runtime/symtab.go:1121
    2.45    0.15    18.00     1.11  runtime.mallocgc                                              runtime/malloc.go:1009
    2.13    0.13     2.29     0.14  runtime.lock2                                                 runtime/lock_futex.go:61
    1.80    0.11     6.71     0.41  runtime.heapBitsSetType                                       runtime/mbitmap.go:879
    1.80    0.11     1.80     0.11  _raw_spin_unlock_irqrestore                                   [kernel.kallsyms]
    1.80    0.11     1.80     0.11  runtime.unlock2                                               runtime/lock_futex.go:116
    1.47    0.09    11.46     0.71  github.com/prometheus/common/expfmt.MetricFamilyToText        github.com/prometheus/common/expfmt/text_create.go:132
    1.47    0.09     2.78     0.17  runtime.getStackMap                                           runtime/stack.go:1321
    1.47    0.09     1.96     0.12  runtime.findObject                                            runtime/mbitmap.go:408
    1.47    0.09     1.64     0.10  irqentry_exit_to_user_mode                                    [kernel.kallsyms]
    1.47    0.09     1.47     0.09  finish_task_switch.isra.0                                     [kernel.kallsyms]
    1.47    0.09     1.47     0.09  runtime.pageIndexOf                                           runtime/mheap.go:696
    1.31    0.08    10.80     0.67  runtime.newobject                                             runtime/malloc.go:1202
    1.31    0.08     1.31     0.08  aeshashbody                                                   runtime/asm_amd64.s:1228
    1.15    0.07    11.78     0.73  github.com/prometheus/client_golang/prometheus.processMetric  github.com/prometheus/client_golang/prometheus/registry.go:629
    1.15    0.07     1.64     0.10  runtime.memclrNoHeapPointers                                  runtime/memclr_amd64.s:94
    1.15    0.07     1.15     0.07  __vdso_clock_gettime                                          [vdso]
    1.15    0.07     1.15     0.07  runtime.nextFreeFast                                          runtime/malloc.go:783
  20 of 978 functions; --top 0 shows all

  total %  self %  function
    97.05    0.00  runtime.goexit
    60.23    0.00  ├─ net/http.(*conn).serve
    51.55    0.00  │  http.serverHandler.ServeHTTP > http.HandlerFunc.ServeHTTP > web.withStackTracer.func1 > http.(*ServeMux).ServeHTTP
    29.46    0.33  │  ├─ route.(*Router).ServeHTTP > httprouter.(*Router).ServeHTTP > … 11 calls … > http.HandlerFunc.ServeHTTP > promhttp.HandlerForTransactional.func1
    16.37    0.16  │  │  ├─ prometheus.(*noTransactionGatherer).Gather > prometheus.(*Registry).Gather
    11.78    1.15  │  │  │  github.com/prometheus/client_golang/prometheus.processMetric
    11.46    1.47  │  │  └─ expfmt.encoderCloser.Encode > expfmt.NewEncoder.func7 > expfmt.MetricFamilyToText
    21.60    0.00  │  └─ http.HandlerFunc.ServeHTTP > http.StripPrefix.func1 > … 7 calls … > http.HandlerFunc.ServeHTTP > promhttp.InstrumentHandlerResponseSize.func1
    20.29    0.33  │     http.HandlerFunc.ServeHTTP > web.(*Handler).testReady.func1 > httputil.CompressionHandler.ServeHTTP > http.HandlerFunc.ServeHTTP > v1.(*API).Register.func1.1
    18.17    0.00  │     v1.(*API).Register.func2.1 > v1.(*API).query
    13.26    0.00  │     github.com/prometheus/prometheus/promql.(*query).Exec
    11.62    0.16  │     github.com/prometheus/prometheus/promql.(*Engine).exec
     9.82    0.00  │     github.com/prometheus/prometheus/promql.(*Engine).execEvalStmt
     8.51    0.00  │     promql.(*evaluator).Eval > promql.(*evaluator).eval ×2 > promql.(*evaluator).rangeEval ×2
    16.86    0.00  ├─ github.com/prometheus/client_golang/prometheus.(*Registry).Gather.func1
    10.80    0.00  │  prometheus.(*processCollector).Collect > prometheus.(*processCollector).processCollect
     8.51    0.00  └─ runtime.gcBgMarkWorker
  the largest paths; --tree shows all calls

  $ ./screen 80x24 gosym report --stdio compile.html
  265 samples of cpu-clock at 99 Hz: 2.68 s of CPU time in 2.70 s, 0.99 of 2 CPUs
  recorded   2026-11-25T13:47:44Z on build-1 by gosym record -- g++ -O2 -c words.…
  processes  cc1plus (25306) 98.9 %, as (25327) 1.1 %
  load       ███████████████████████████  each 100 ms, 0.90 to 1.01 CPUs

  self %  self s  total %  total s  function            hottest line
    1.89    0.05     2.26     0.06  ggc_internal_alloc  cc1plus
    1.51    0.04     4.15     0.11  cc1plus!fun_f44320  cc1plus
    1.51    0.04     3.40     0.09  exc_page_fault      [kernel.kallsyms]
    1.51    0.04     1.89     0.05  _int_malloc         malloc/malloc.c:3908
    1.51    0.04     1.51     0.04  bitmap_ior_into     cc1plus
    1.51    0.04     1.51     0.04  cc1plus!fun_ff34d0  cc1plus
  6 of 929 functions; --top 0 shows all

  total %  self %  function
    98.87    0.00  _start > … > cc1plus!fun_d801c0
    76.60    0.00  symbol_table::finalize_compilation_unit
    73.58    0.00  cc1plus!fun_97da40
    54.34    0.00  cgraph_node::expand
  the largest paths; --tree shows all calls

  unnamed    31.3 % of the samples, 30.9 % in [stripped cc1plus]: install
             g++-12-dbgsym, or see --debug-dir; -v lists all

  $ ./screen 120x40 gosym report --stdio compile.html
  265 samples of cpu-clock at 99 Hz: 2.68 s of CPU time in 2.70 s, 0.99 of 2 CPUs
  recorded   2026-11-25T13:47:44Z on build-1 by gosym record -- g++ -O2 -c words.cpp -o /dev/null, Linux 6.18.44-fc-v669 …
  processes  cc1plus (25306) 98.9 %, as (25327) 1.1 %
  load       ▇███████████████▇█████▇█████████▇███████████▇  each 60 ms, 0.83 to 1.01 CPUs

  self %  self s  total %  total s  function                        hottest line
    1.89    0.05     2.26     0.06  ggc_internal_alloc              cc1plus
    1.51    0.04     4.15     0.11  cc1plus!fun_f44320              cc1plus
    1.51    0.04     3.40     0.09  exc_page_fault                  [kernel.kallsyms]
    1.51    0.04     1.89     0.05  _int_malloc                     malloc/malloc/malloc.c:3908
    1.51    0.04     1.51     0.04  bitmap_ior_into                 cc1plus
    1.51    0.04     1.51     0.04  cc1plus!fun_ff34d0              cc1plus
    1.51    0.04     1.51     0.04  iterative_hash                  cc1plus
    1.13    0.03     3.02     0.08  __memset_avx512_unaligned_erms  x86_64/multiarch/memset-vec-unaligned-erms.S:212
    1.13    0.03     2.26     0.06  htab_find_slot_with_hash        cc1plus
    1.13    0.03     1.51     0.04  walk_stmt_load_store_addr_ops   cc1plus
    1.13    0.03     1.13     0.03  bitmap_bit_p                    cc1plus
    1.13    0.03     1.13     0.03  cc1plus!fun_1b26e20             cc1plus
    1.13    0.03     1.13     0.03  push_to_top_level               cc1plus
    0.75    0.02     4.15     0.11  cc1plus!fun_8247d0              cc1plus
    0.75    0.02     2.64     0.07  calculate_dominance_info        cc1plus
    0.75    0.02     2.64     0.07  cc1plus!fun_1921de0             cc1plus
  16 of 929 functions; --top 0 shows all

  total %  self %  function
    98.87    0.00  _start > __libc_start_main > … 2 calls … > toplev::main > cc1plus!fun_d801c0
    76.60    0.00  ├─ symbol_table::finalize_compilation_unit
    73.58    0.00  │  cc1plus!fun_97da40
    54.34    0.00  │  ├─ cgraph_node::expand
    50.19    0.00  │  │  execute_pass_list > cc1plus!fun_cb5040 ×3 > execute_one_pass
    16.98    0.00  │  └─ execute_ipa_pass_list
    15.85    0.38  │     cc1plus!fun_cb20a0 > execute_pass_list > cc1plus!fun_cb5040 ×2 > execute_one_pass
    12.08    0.00  ├─ c_common_parse_file > c_parse_file
    10.57    0.00  │  cc1plus!fun_7f4d20 ×2 > cc1plus!fun_7f4850 ×2 > cc1plus!fun_7f47f0 ×2 > cc1plus!fun_7f4d20
     8.68    0.00  │  cc1plus!fun_7f2910 > cc1plus!fun_7f2260 > cc1plus!fun_7f1e40
    10.19    0.00  └─ c_parse_final_cleanups > instantiate_pending_templates > instantiate_decl > cc1plus!fun_81a820
  the largest paths; --tree shows all calls

  unnamed    31.3 % of the samples, 30.9 % in [stripped cc1plus]: install g++-12-dbgsym, or see --debug-dir; -v lists all

  $ ./screen 200x50 gosym report --stdio compile.html
  265 samples of cpu-clock at 99 Hz: 2.68 s of CPU time in 2.70 s, 0.99 of 2 CPUs
  recorded   2026-11-25T13:47:44Z on build-1 by gosym record -- g++ -O2 -c words.cpp -o /dev/null, Linux 6.18.44-fc-v669 x86_64
  processes  cc1plus (25306) 98.9 %, as (25327) 1.1 %
  load       ▇███████████████▇█████▇█████████▇███████████▇  each 60 ms, 0.83 to 1.01 CPUs

  self %  self s  total %  total s  function                        hottest line
    1.89    0.05     2.26     0.06  ggc_internal_alloc              cc1plus
    1.51    0.04     4.15     0.11  cc1plus!fun_f44320              cc1plus
    1.51    0.04     3.40     0.09  exc_page_fault                  [kernel.kallsyms]
    1.51    0.04     1.89     0.05  _int_malloc                     malloc/malloc/malloc.c:3908
    1.51    0.04     1.51     0.04  bitmap_ior_into                 cc1plus
    1.51    0.04     1.51     0.04  cc1plus!fun_ff34d0              cc1plus
    1.51    0.04     1.51     0.04  iterative_hash                  cc1plus
    1.13    0.03     3.02     0.08  __memset_avx512_unaligned_erms  sysdeps/x86_64/multiarch/memset-vec-unaligned-erms.S:212
    1.13    0.03     2.26     0.06  htab_find_slot_with_hash        cc1plus
    1.13    0.03     1.51     0.04  walk_stmt_load_store_addr_ops   cc1plus
    1.13    0.03     1.13     0.03  bitmap_bit_p                    cc1plus
    1.13    0.03     1.13     0.03  cc1plus!fun_1b26e20             cc1plus
    1.13    0.03     1.13     0.03  push_to_top_level               cc1plus
    0.75    0.02     4.15     0.11  cc1plus!fun_8247d0              cc1plus
    0.75    0.02     2.64     0.07  calculate_dominance_info        cc1plus
    0.75    0.02     2.64     0.07  cc1plus!fun_1921de0             cc1plus
    0.75    0.02     1.51     0.04  cc1plus!fun_191a9f0             cc1plus
    0.75    0.02     1.51     0.04  iterative_hash_template_arg     cc1plus
    0.75    0.02     1.51     0.04  mark_irreducible_loops          cc1plus
    0.75    0.02     1.13     0.03  df_worklist_dataflow            cc1plus
  20 of 929 functions; --top 0 shows all

  total %  self %  function
    98.87    0.00  _start > __libc_start_main > … 2 calls … > toplev::main > cc1plus!fun_d801c0
    76.60    0.00  ├─ symbol_table::finalize_compilation_unit
    73.58    0.00  │  cc1plus!fun_97da40
    54.34    0.00  │  ├─ cgraph_node::expand
    50.19    0.00  │  │  ├─ execute_pass_list > cc1plus!fun_cb5040 ×3 > execute_one_pass
     4.15    0.00  │  │  │  cc1plus!fun_bb7650
     4.15    0.00  │  │  └─ execute_all_ipa_transforms
    16.98    0.00  │  └─ execute_ipa_pass_list
    15.85    0.38  │     cc1plus!fun_cb20a0 > execute_pass_list > cc1plus!fun_cb5040 ×2 > execute_one_pass
     4.15    0.00  │     cc1plus!fun_cb1b70 > cc1plus!fun_cb1400
    12.08    0.00  ├─ c_common_parse_file > c_parse_file
    10.57    0.00  │  cc1plus!fun_7f4d20 ×2 > cc1plus!fun_7f4850 ×2 > cc1plus!fun_7f47f0 ×2 > cc1plus!fun_7f4d20
     8.68    0.00  │  cc1plus!fun_7f2910 > cc1plus!fun_7f2260 > cc1plus!fun_7f1e40
     4.53    0.00  │  cc1plus!fun_7c6460 ×2 > cc1plus!fun_7c5500 ×2 > cc1plus!fun_7c36c0 ×2
    10.19    0.00  └─ c_parse_final_cleanups > instantiate_pending_templates > instantiate_decl > cc1plus!fun_81a820
     7.92    0.00     cc1plus!fun_81ba90 ×13
     5.66    0.00     tsubst_copy_and_build ×4
  the largest paths; --tree shows all calls

  unnamed    31.3 % of the samples, 30.9 % in [stripped cc1plus]: install g++-12-dbgsym, or see --debug-dir; -v lists all

  $ ./screen 80x24 gosym report --stdio machine.html
  1,184 samples: 11.96 s of CPU time in 6.00 s, 1.99 of 2 CPUs
  recorded   2026-11-25T14:36:16Z on build-1 by gosym record -a -d 6s, Linux 6.18…
  processes  cc1plus (2 processes) 32.4 %, prometheus (27764) 31.7 %, python3 (27…
  load       ██████████████████████████████  each 200 ms, 1.87 to 2.00 CPUs
  own code   4.8 %, and 23.7 % with what it calls, see --mine: packages of promet…

  self %  self s  total %  total s  function                     hottest line
    4.98    0.60    18.16     2.17  _PyEval_EvalFrameDefault     python3.11
    1.77    0.21     1.94     0.23  irqentry_exit_to_user_mode   [kernel.kallsyms]
    1.77    0.21     1.77     0.21  _raw_spin_unlock_irqrestore  [kernel.kallsyms]
    1.44    0.17     1.44     0.17  gzip!fun_4290                gzip
    1.18    0.14     5.57     0.67  runtime.mallocgc             malloc.go:1087
  5 of 2,464 functions; --top 0 shows all

  total %  self %  function
    32.43    0.00  ├─ cc1plus > … > cc1plus!fun_d801c0
    24.75    0.00  │  symbol_table::finalize_compilation_unit
    31.67    0.00  └─ prometheus
    30.07    0.08     runtime.goexit
  the largest paths; --tree shows all calls

  unnamed    20.7 % of the samples, 10.7 % in [stripped cc1plus]: install
             g++-12-dbgsym, or see --debug-dir; -v lists all

  $ ./screen 120x40 gosym report --stdio machine.html
  1,184 samples of cpu-clock at 99 Hz: 11.96 s of CPU time in 6.00 s, 1.99 of 2 CPUs
  recorded   2026-11-25T14:36:16Z on build-1 by gosym record -a -d 6s, Linux 6.18.44-fc-v669 x86_64
  processes  cc1plus (2 processes) 32.4 %, prometheus (27764) 31.7 %, python3 (27757) 18.2 %, find (96 processes) 9.7 %, …
  load       ▇████▇████████▇███████▇███████▇████████▇███████▇██  each 120 ms, 1.85 to 2.00 CPUs
  own code   4.8 %, and 23.7 % with what it calls, see --mine: packages of prometheus that are not Go's

  self %  self s  total %  total s  function                                    program        hottest line
    4.98    0.60    18.16     2.17  _PyEval_EvalFrameDefault                    python3        python3.11
    1.77    0.21     1.94     0.23  irqentry_exit_to_user_mode                  cc1plus, …     [kernel.kallsyms]
    1.77    0.21     1.77     0.21  _raw_spin_unlock_irqrestore                 prometheus, …  [kernel.kallsyms]
    1.44    0.17     1.44     0.17  gzip!fun_4290                               gzip           gzip
    1.18    0.14     5.57     0.67  runtime.mallocgc                            prometheus     runtime/malloc.go:1087
    1.10    0.13     1.35     0.16  runtime.step                                prometheus     runtime/symtab.go:1121
    1.10    0.13     1.10     0.13  finish_task_switch.isra.0                   prometheus, …  [kernel.kallsyms]
    1.10    0.13     1.10     0.13  gzip!fun_cc20                               gzip           gzip
    0.93    0.11     2.28     0.27  exc_page_fault                              cc1plus, …     [kernel.kallsyms]
    0.93    0.11     1.18     0.14  _int_malloc                                 cc1plus, …     malloc/malloc/malloc.c:3911
    0.93    0.11     1.01     0.12  runtime.memclrNoHeapPointers                prometheus     runtime/memclr_amd64.s:127
    0.76    0.09     5.15     0.62  expfmt.MetricFamilyToText                   prometheus     expfmt/text_create.go:166
    0.76    0.09     2.03     0.24  runtime.scanobject                          prometheus     runtime/mgcmark.go:1324
    0.68    0.08     3.46     0.41  gzip!fun_4710                               gzip           gzip
    0.68    0.08     0.76     0.09  bitmap_set_bit                              cc1plus        cc1plus
  15 of 2,464 functions; --top 0 shows all

  total %  self %  function
    32.43    0.00  ├─ cc1plus > _start > … 3 calls … > toplev::main > cc1plus!fun_d801c0
    24.75    0.00  │  symbol_table::finalize_compilation_unit
    23.48    0.00  │  cc1plus!fun_97da40
    16.22    0.00  │  cgraph_node::expand
    14.27    0.00  │  execute_pass_list > cc1plus!fun_cb5040 ×4 > execute_one_pass
    31.67    0.00  ├─ prometheus
    30.07    0.08  │  runtime.goexit
    20.44    0.00  │  net/http.(*conn).serve
    17.06    0.00  │  http.serverHandler.ServeHTTP > … > http.(*ServeMux).ServeHTTP
    18.16    0.93  └─ python3 > clone3 > … 6 calls … > _PyFunction_Vectorcall > _PyEval_EvalFrameDefault
    12.50    1.86     python3.11!fun_583ab0 > python3.11!fun_584960 > _PyEval_EvalFrameDefault
  the largest paths; --tree shows all calls

  unnamed    20.7 % of the samples, 10.7 % in [stripped cc1plus]: install g++-12-dbgsym, or see --debug-dir; -v lists all

  $ ./screen 200x50 gosym report --stdio machine.html
  1,184 samples of cpu-clock at 99 Hz: 11.96 s of CPU time in 6.00 s, 1.99 of 2 CPUs
  recorded   2026-11-25T14:36:16Z on build-1 by gosym record -a -d 6s, Linux 6.18.44-fc-v669 x86_64
  processes  cc1plus (2 processes) 32.4 %, prometheus (27764) 31.7 %, python3 (27757) 18.2 %, find (96 processes) 9.7 %, gzip (46 processes) 4.5 %, and 7 more
  load       ▇████▇████████▇███████▇███████▇████████▇███████▇██  each 120 ms, 1.85 to 2.00 CPUs
  own code   4.8 %, and 23.7 % with what it calls, see --mine: packages of prometheus that are not Go's

  self %  self s  total %  total s  function                                                program        hottest line
    4.98    0.60    18.16     2.17  _PyEval_EvalFrameDefault                                python3        python3.11
    1.77    0.21     1.94     0.23  irqentry_exit_to_user_mode                              cc1plus, …     [kernel.kallsyms]
    1.77    0.21     1.77     0.21  _raw_spin_unlock_irqrestore                             prometheus, …  [kernel.kallsyms]
    1.44    0.17     1.44     0.17  gzip!fun_4290                                           gzip           gzip
    1.18    0.14     5.57     0.67  runtime.mallocgc                                        prometheus     runtime/malloc.go:1087
    1.10    0.13     1.35     0.16  runtime.step                                            prometheus     runtime/symtab.go:1121
    1.10    0.13     1.10     0.13  finish_task_switch.isra.0                               prometheus, …  [kernel.kallsyms]
    1.10    0.13     1.10     0.13  gzip!fun_cc20                                           gzip           gzip
    0.93    0.11     2.28     0.27  exc_page_fault                                          cc1plus, …     [kernel.kallsyms]
    0.93    0.11     1.18     0.14  _int_malloc                                             cc1plus, …     malloc/malloc/malloc.c:3911
    0.93    0.11     1.01     0.12  runtime.memclrNoHeapPointers                            prometheus     runtime/memclr_amd64.s:127
    0.76    0.09     5.15     0.62  github.com/prometheus/common/expfmt.MetricFamilyToText  prometheus     github.com/prometheus/common/expfmt/text_create.go:166
    0.76    0.09     2.03     0.24  runtime.scanobject                                      prometheus     runtime/mgcmark.go:1324
    0.68    0.08     3.46     0.41  gzip!fun_4710                                           gzip           gzip
    0.68    0.08     0.76     0.09  bitmap_set_bit                                          cc1plus        cc1plus
    0.68    0.08     0.68     0.08  _raw_spin_lock                                          cc1plus, …     [kernel.kallsyms]
    0.68    0.08     0.68     0.08  runtime.memmove                                         prometheus     runtime/memmove_amd64.s:39
    0.59    0.07    16.89     2.02  do_syscall_64                                           find, …        [kernel.kallsyms]
    0.59    0.07     0.68     0.08  ggc_internal_alloc                                      cc1plus        cc1plus
    0.59    0.07     0.59     0.07  filldir64                                               find           [kernel.kallsyms]
  20 of 2,464 functions; --top 0 shows all

  total %  self %  function
    32.43    0.00  ├─ cc1plus > _start > … 3 calls … > toplev::main > cc1plus!fun_d801c0
    24.75    0.00  │  symbol_table::finalize_compilation_unit
    23.48    0.00  │  cc1plus!fun_97da40
    16.22    0.00  │  ├─ cgraph_node::expand
    14.27    0.00  │  │  execute_pass_list > cc1plus!fun_cb5040 ×4 > execute_one_pass
     6.84    0.00  │  └─ execute_ipa_pass_list > cc1plus!fun_cb20a0 > execute_pass_list > cc1plus!fun_cb5040 ×2 > execute_one_pass
    31.67    0.00  ├─ prometheus
    30.07    0.08  │  runtime.goexit
    20.44    0.00  │  net/http.(*conn).serve
    17.06    0.00  │  http.serverHandler.ServeHTTP > http.HandlerFunc.ServeHTTP > web.withStackTracer.func1 > http.(*ServeMux).ServeHTTP
    10.14    0.17  │  route.(*Router).ServeHTTP > httprouter.(*Router).ServeHTTP > … 11 calls … > http.HandlerFunc.ServeHTTP > promhttp.HandlerForTransactional.func1
    18.16    0.93  ├─ python3 > clone3 > … 6 calls … > _PyFunction_Vectorcall > _PyEval_EvalFrameDefault
    12.50    1.86  │  python3.11!fun_583ab0 > python3.11!fun_584960 > _PyEval_EvalFrameDefault
     9.71    0.00  └─ find
     8.70    0.00     find!fun_6bc0 > __libc_start_main > … 2 calls … > find!fun_7890 > find!fun_7610
     7.26    0.00     find!fun_190c0
  the largest paths; --tree shows all calls

  unnamed    20.7 % of the samples, 10.7 % in [stripped cc1plus]: install g++-12-dbgsym, or see --debug-dir; -v lists all
