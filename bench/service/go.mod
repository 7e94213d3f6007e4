module service

go 1.27
