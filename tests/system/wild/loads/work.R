# SPDX-License-Identifier: Apache-2.0
fib <- function(n) if (n<2) n else fib(n-1)+fib(n-2)
repeat { fib(18); m<-matrix(runif(40000),200); s<-svd(m); x<-sort(runif(50000)); l<-lm(x[1:1000]~x[1001:2000]); p<-paste(1:5000); gsub("1","2",p); sapply(1:2000,function(i) i*2) }
