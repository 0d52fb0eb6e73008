// Command tables is the module of the writers of tables that the engine is built with.
package main

import (
	"github.com/ubunye-io/ubunye/plugins/delta"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

func init() { sdk.Serve(delta.Writer{}) }

func main() {}
