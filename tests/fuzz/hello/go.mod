module hello

go 1.15
