module example.org/profile

go 1.21
