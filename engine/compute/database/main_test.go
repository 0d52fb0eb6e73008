package database

import (
	"os"
	"testing"

	"github.com/ubunye-io/ubunye/internal/serverstest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	serverstest.Stop()
	os.Exit(code)
}
