module example.com/sink

go 1.25

require google.golang.org/grpc v1.79.0
