#pragma once

#define READ_MEMBER(of, member) ((of)->member)
#define READ_MEMBER_OF_MEMBER(of, first, second) ((of)->first->second)
#define CHOOSE_READ(a, b, c, name, ...) name
#define BPF_CORE_READ(...) \
  CHOOSE_READ(__VA_ARGS__, READ_MEMBER_OF_MEMBER, READ_MEMBER, 0)(__VA_ARGS__)
