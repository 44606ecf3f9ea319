// SPDX-License-Identifier: Apache-2.0

// Calls that Go's compiler inlines, for the lines of its table of functions. Without imports, so
// that nothing but the run time is built.
package main

func inner(x float64) float64 {
	return x*1.0000001 + 0.5
}

func middle(x float64) float64 {
	if x < 0 {
		return inner(-x)
	}
	return inner(x) + inner(x+1)
}

type shape struct {
	width, height float64
}

func (s *shape) area() float64 {
	return middle(s.width) * inner(s.height)
}

//go:noinline
func outer(n int) float64 {
	sum := 0.0
	for i := 0; i < n; i++ {
		sum += middle(float64(i))
		s := shape{sum, 1}
		sum += s.area()
	}
	return sum
}

//go:noinline
func each(f func(int) float64, n int) float64 {
	sum := 0.0
	for i := range make([]int, n) {
		sum += f(i)
	}
	return sum
}

func main() {
	add := 1.0
	println(outer(10), each(func(i int) float64 {
		add += inner(float64(i))
		return middle(add)
	}, 10))
}
