// Command writer is a plugin that writes text files of fixed width: a line a row, each column padded to its
// width. The engine has no encoder for that, so the rows come into the plugin, which writes the files itself.
package main

import "github.com/ubunye-io/ubunye/plugins/sdk"

func init() { sdk.Serve(fixedWidth{}) } // a module is called; its main never runs

func main() {}
