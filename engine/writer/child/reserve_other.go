//go:build !unix

package main

func reserve(size int) []byte { return make([]byte, size) }
