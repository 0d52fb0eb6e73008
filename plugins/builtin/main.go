// Command builtin is the module of the writers of files that the engine is built with. They share one, so that
// what Go brings along is compiled and kept once, not once a writer. Those of tables are in another, see tables: what
// they bring along would be loaded by every run.
package main

import (
	"github.com/ubunye-io/ubunye/plugins/csv"
	"github.com/ubunye-io/ubunye/plugins/json"
	"github.com/ubunye-io/ubunye/plugins/parquet"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

func init() { sdk.Serve(parquet.Writer(), csv.Writer(), json.Writer()) }

func main() {}
