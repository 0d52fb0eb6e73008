package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// watch looks at a process and those that it starts until it ends. The function that it returns gives the most
// memory, in bytes, that each of them had resident, added up: never less than what they had at one moment.
func watch(pid int) func() int64 {
	peaks := map[int]int64{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			for _, p := range append(children(pid), pid) {
				peaks[p] = max(peaks[p], highWater(p))
			}
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() (sum int64) {
		close(stop)
		<-stopped
		for _, peak := range peaks {
			sum += peak
		}
		return sum
	}
}

// children are the processes that a process has started, from any of its threads.
func children(pid int) (list []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // it may have ended
	for _, t := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// highWater is the most memory, in bytes, that a process has had resident.
func highWater(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
