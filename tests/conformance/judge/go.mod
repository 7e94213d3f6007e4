module judge

go 1.21
