#pragma once

#define BPF_CORE_READ(of, member) ((of)->member)
