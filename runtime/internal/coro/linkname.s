// Lets the compiler accept declarations without body, which go:linkname fills.
