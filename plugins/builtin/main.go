// Command builtin is the module of the writers that the engine is built with. They share one, so that
// what Go brings along is compiled and kept once, not once a writer.
package main

import (
	"github.com/ubunye-io/ubunye/plugins/csv"
	"github.com/ubunye-io/ubunye/plugins/delta"
	"github.com/ubunye-io/ubunye/plugins/json"
	"github.com/ubunye-io/ubunye/plugins/parquet"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

func init() { sdk.Serve(parquet.Writer(), csv.Writer(), json.Writer(), delta.Writer{}) }

func main() {}
