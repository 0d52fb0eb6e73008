package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// asStopped has this test program wait for a signal as ubunye does, and for the end of its stdin.
const asStopped = "UBUNYE_TEST_STOPPED"

func TestMain(m *testing.M) {
	if os.Getenv(asStopped) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signals()
	defer stop()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(problem.Exit(context.Cause(ctx)))
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// timeout(1) sends its signal twice, and so do wrappers: that is one wish to stop, and the run may clean up.
func TestASignalThatIsSentTwiceIsOneWishToStop(t *testing.T) {
	for first, exit := range map[syscall.Signal]string{syscall.SIGINT: "130", syscall.SIGTERM: "143", syscall.SIGHUP: "143"} {
		for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if signal.Ignored(first) {
				continue // under nohup, and then it stays ignored
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), asStopped+"=1")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			say := func(want string, then syscall.Signal) {
				if !lines.Scan() || lines.Text() != want {
					t.Errorf("%v, %v: it says %q, want %q", first, second, lines.Text(), want)
				}
				cmd.Process.Signal(then)
			}
			say("ready", first)
			say(exit, second)
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v, then %v: %v", first, second, err)
			}
		}
	}
}
