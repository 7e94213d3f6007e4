module runtimeframes

go 1.19
