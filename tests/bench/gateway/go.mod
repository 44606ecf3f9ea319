module example.com/gateway

go 1.25

require (
	google.golang.org/grpc v1.79.0
	google.golang.org/protobuf v1.36.10
)
