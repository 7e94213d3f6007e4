module oracle

go 1.15
