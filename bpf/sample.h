/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Structures that the BPF program and the sampler share.

#include <linux/types.h>

// Frames of a stack. The middle of a deeper one is left out: the outer frames are kept in a
// ring, the last of which are those next to the root. Few programs pass 500 frames.
#define GOSYM_INNER_FRAMES 768
#define GOSYM_OUTER_FRAMES 256  // a power of two
#define GOSYM_MAX_USER_FRAMES (GOSYM_INNER_FRAMES + GOSYM_OUTER_FRAMES)

// Frames after which a walk ends, without the root, and frames that all walks of a second may
// pass: the sampler sets a limit by the frequency.
#define GOSYM_MAX_WALK (128 * 1024)
#define GOSYM_MAX_WALKS (99 * GOSYM_MAX_WALK)

// Times that a walk may go on at a lower address: from the stack of a signal handler to that of
// Go's scheduler, and from there to a goroutine's.
#define GOSYM_MAX_STACK_SWITCHES 2

// The kernel's own limit for bpf_get_stack (kernel.perf_event_max_stack).
#define GOSYM_MAX_KERNEL_FRAMES 127

// Bytes of a stack that can be taken along as they are, from the stack pointer on.
#define GOSYM_MAX_TOP_SIZE (32 * 1024)

// Further up, to so many bytes from the stack pointer, only words that point into the code of
// the goroutine's program: twice as many as frames that a stack may have.
#define GOSYM_MAX_WORD_OFFSET (512 * 1024)
#define GOSYM_MAX_FAR_WORDS 2048

// Segments of a stack of Go 1.2 or 1.3 that are looked at, of 8 KiB or more each.
#define GOSYM_MAX_SEGMENTS 64

// Return addresses of a goroutine that are looked for in what its collector keeps of them.
#define GOSYM_MAX_STACK_BARRIERS 32

// Return addresses that the chain of frame pointers may have passed over: in a row, and of all
// of a stack.
#define GOSYM_MAX_PASSED_IN_A_ROW 4
#define GOSYM_MAX_PASSED 128

// General registers of user code, in the order of the kernel's pt_regs. x86-64: r15, r14, r13,
// r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi. arm64: x0 to x30.
//
// Words below the stack pointer that code may use which calls nothing: the red zone of the ABI
// of x86-64. That of arm64 has none.
//
// Bytes below the stack pointer from where on a stack is taken: on arm64 Go code has its frame
// pointer, and what that points to, 8 bytes below.
#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define GOSYM_REGISTERS 15
#define GOSYM_RED_ZONE 16
#define GOSYM_BELOW_STACK 0
#else
#define GOSYM_REGISTERS 31
#define GOSYM_RED_ZONE 0
#define GOSYM_BELOW_STACK 16
#endif

// The least bytes of one CPU's ring, and the most. The sampler chooses: by the frequency, and
// by what a sample may take, for a second without a reader, which comes every 50 ms. The least
// lasts for half a second at 99 a second: in half of it 12 of 353,689 samples were lost on a
// machine with three times the work that it had CPUs for.
#define GOSYM_MIN_RING_SIZE (1024 * 1024)
#define GOSYM_MAX_RING_SIZE (16 * 1024 * 1024)

// Processes that can be followed at once: the kernel's default for pid_max.
#define GOSYM_MAX_TARGETS 32768

// Events that one recording can be of.
#define GOSYM_MAX_EVENTS 4

// Timers that a clock has on each CPU: see bpf/ticks.h. A power of two.
#define GOSYM_TIMERS 16

// Threads that have ended and are not freed yet of which it is known: most are for
// milliseconds, others until their parent asks for their status.
#define GOSYM_MAX_ENDING 4096

// Threads and cgroups that can be named as targets.
#define GOSYM_MAX_TARGET_TIDS 1024
#define GOSYM_MAX_TARGET_CGROUPS 16

// Processes of Go programs whose goroutines can be told at once. The kernel wants the memory
// for all of them beforehand, some 100 bytes each.
#define GOSYM_MAX_GO_PROCESSES 4096

// Bytes from the first frame on a thread's other stack to where that begins if the runtime's
// own code was called there: the frame, and one word at most that the caller pushed (Go 1.15 to
// 1.27). Where C code was called more lies between.
#define GOSYM_MAX_ENTRY_SIZE 24

// Sizes that the kernel may need to save the state of the FPU in a signal frame.
#define GOSYM_FPU_SIZES 3

// Depth of callbacks, from C code that Go code called, to which a stack is followed; and stacks
// that lie behind the one that the code runs on then.
#define GOSYM_MAX_CALLBACKS 16
#define GOSYM_MAX_PIECES (2 * GOSYM_MAX_CALLBACKS + 2)

// Labels of a goroutine that are taken along; programs have one to five. The other number is
// that of the buckets of a map with so many.
#define GOSYM_MAX_LABELS 10
#define GOSYM_MAX_LABEL_BUCKETS 4

// Offsets for reading the goroutines of a Go program: src/go/goroutine_layout.h.
struct gosym_go_program {
  __u64 offset;     // of the pointer to g from the thread pointer
  __u64 offset_at;  // address of a word with that offset, or 0
  __u16 g_m;
  __u16 g_sched_sp;
  __u16 g_sched_bp;    // 0: code keeps no frame pointers
  __u16 g_goid;        // 0: not known
  __u16 g_labels;      // 0: there are none
  __u16 g_created_at;  // of the return address of the go statement; 0: not known
  __u16 m_gsignal;
  __u16 m_curg;
  __u16 g_stack_barriers;  // 0: there are none
  __u16 g_stack_guard;  // of the segment of a stack that is in use; 0: stacks are of one piece
  __u8 has_label_map;
  __u8 callback_frame;  // bytes of the frame of cgocallback
  __u64 code;           // where it is mapped
  __u64 code_size;
};

// A word of a stack, at so many bytes from its stack pointer.
struct gosym_far_word {
  __u64 offset;
  __u64 value;
};

#define GOSYM_NO_WORDS (~0ull)

// Another stack that a stack goes on on, or a piece of it.
struct gosym_piece {
  __u64 place;   // of the word there that is returned to
  __u64 frame;   // where the frame pointer leads then; 0: not known
  __u64 end;     // where the next begins, or 0
  __u64 offset;  // of `place` among the words of the top; GOSYM_NO_WORDS: none of it were taken
  __u32 start;   // index of its first frame; 0: it has none
  __u32 is_of_goroutine;
};

// A return address that lies right above the frame in which the one before number `frame` was
// found, or above the passed one before it. If the function which that returns to keeps no
// frame, this is where it returns to itself; else it is left of an earlier call. Only the
// program's tables tell.
struct gosym_passed {
  __u64 frame;
  __u64 address;
};

// A label of a goroutine. What of the texts there is no room for is left out.
struct gosym_label {
  __u32 key_size;
  __u32 value_size;
  char key[32];
  char value[88];
};

// The values of StackEnd (model/recording.h).
enum gosym_stack_end {
  GOSYM_END_ROOT = 0,
  GOSYM_END_UNREADABLE = 1,
  GOSYM_END_BAD_FRAME = 2,
  GOSYM_END_LIMIT = 3,
};

// Reason for which a thread was on no CPU.
enum gosym_state {
  GOSYM_STATE_NONE = 0,  // it was on one
  GOSYM_STATE_SLEEPING,
  GOSYM_STATE_DISK_SLEEP,  // as proc(5) calls it: no signal wakes it
  GOSYM_STATE_STOPPED,
  GOSYM_STATE_TRACING_STOP,
  GOSYM_STATE_IDLE,  // of the kernel's own threads
  GOSYM_STATE_PARKED,
  GOSYM_STATE_WAITING_FOR_CPU,
  GOSYM_STATE_THROTTLED,  // it waited for one when its cgroup had used up its time
  GOSYM_STATE_COUNT,
};

// Threads of which it is known at once when they left their CPU. The kernel wants the memory
// for all of them beforehand, some 110 bytes each.
#define GOSYM_MAX_WAITS 65536

// Processes whose thresholds for waits can be above the event's at once: of more, those that
// had no sample for the longest time begin anew.
#define GOSYM_MAX_WAIT_RATES 8192

// Times that such a threshold is doubled at most: 10 ms become 124 days.
#define GOSYM_MAX_DOUBLINGS 30

// A process whose waits have samples.
struct gosym_wait_rate {
  __u64 begin;  // of the span in which samples are counted
  __u32 count;
  __u32 doublings;  // of its threshold
};

#define GOSYM_COMM_SIZE 16  // TASK_COMM_LEN of Linux

// In the place of a process that woke a thread.
#define GOSYM_INTERRUPT 0xffffffff

// Since when a thread is on no CPU. It stays when the thread is on one again: most come back.
struct gosym_wait {
  __u64 left;   // when it left its CPU; 0: it is on one
  __u64 woken;  // since when it waits for one; 0: it was not woken yet
  __u32 state;  // enum gosym_state
  __u32 waker;  // the process that woke it; 0: nobody yet; or GOSYM_INTERRUPT
  char waker_comm[GOSYM_COMM_SIZE];
  __u64 waker_stack;  // in the kernel
};

// A record in a ring: as long as its stacks need. `stack` holds user_depth user addresses, then
// kernel_depth kernel addresses, each innermost first, then label_count labels, then the
// top_size bytes of the user's stacks that begin at its stack pointer, then far_size bytes of
// words from further up, of two of which at one place the first is right, then piece_count
// pieces, then passed_count return addresses that may have been passed over, in their order.
struct gosym_sample {
  __u64 time;    // CLOCK_MONOTONIC
  __u64 weight;  // events that the sample stands for
  __u64 cgroup;  // number in the hierarchy of cgroup v2
  __u32 pid;
  __u32 tid;
  __u32 cpu;
  __u32 user_end;  // enum gosym_stack_end
  __u32 user_depth;
  __u32 kernel_depth;
  __u32 label_count;
  __u64 goid;     // 0: no goroutine, or none that can be told
  __u64 creator;  // the return address of its go statement; 0: not known
  // Local variables of a walk: here the verifier forgets their values.
  __u32 stack_switches;
  __u32 walk_has_ended;
  __u64 code;  // of the Go program; its size is 0 where passed callers are not looked for
  __u64 code_size;
  __u64 barrier;  // bpf/stack_barriers.h
  __u64 barriers_end;
  __u64 barrier_place;
  __u32 top_size;
  // Frames may be missing where the thread's other stack begins.
  __u32 has_gap;
  // Frames that were left out between the inner and the outer ones. Where they are, the index
  // of the outermost in the ring is known by their number; pieces count them.
  __u32 missing;
  __u32 event;  // index of the event that it is a sample of
  __u32 far_size;
  __u32 piece_count;
  __u32 passed_count;
  __u64 unwalked;  // where a thread is whose user stack is left to the reader; 0: of no other
  __u32 state;     // enum gosym_state; this and the next two are as gosym_wait has them
  __u32 waker;
  char waker_comm[GOSYM_COMM_SIZE];
  __u32 doublings;  // of the threshold by which a wait was chosen
  __u32 padding;
  // Registers of the user code, here and below. The stack pointer is the next multiple of 8
  // that is GOSYM_BELOW_STACK bytes or more below the code's, which lies `misaligned` bytes
  // above: some code moves it by one or two bytes for a while.
  __u64 stack_pointer;
  __u64 misaligned;
  __u64 frame_pointer;
  __u64 registers[GOSYM_REGISTERS];
  __u64 red_zone[GOSYM_RED_ZONE];  // up to the stack pointer; 0: not taken
  __u64 stack[GOSYM_MAX_USER_FRAMES + GOSYM_MAX_KERNEL_FRAMES +
              (GOSYM_MAX_LABELS * sizeof(struct gosym_label) + GOSYM_MAX_TOP_SIZE +
               GOSYM_MAX_FAR_WORDS * sizeof(struct gosym_far_word) +
               GOSYM_MAX_PIECES * sizeof(struct gosym_piece) +
               GOSYM_MAX_PASSED * sizeof(struct gosym_passed)) /
                  8];
};

// A thread that has ended.
struct gosym_ending {
  __u32 tid;
  __u32 padding;
  __u64 ran;  // nanoseconds, as far as it was known when it ended
};

// Counts of one event on one CPU.
struct gosym_counters {
  __u64 stored;
  __u64 lost;      // no room in the ring
  __u64 lost_ns;   // of CPU time that these stand for, if a clock is sampled
  __u64 skipped;   // ticks of a clock that did not come before those of targets
  __u64 handover;  // when the first timer of a clock hands over to the others; 0: not known yet
  // When the last tick of each timer was due, whoever ran, and last of all of the first one's;
  // 0: none has come yet.
  __u64 last_ticks[GOSYM_TIMERS + 1];
};
