// Command writer is a plugin that writes Excel workbooks (.xlsx, ECMA-376): one a batch, with a sheet for each value of a column. The
// rows pass through it a record batch at a time, whatever the size of the workbook.
package main

import "github.com/ubunye-io/ubunye/plugins/sdk"

func init() { sdk.Serve(excel{}) } // a module is called; its main never runs

func main() {}
