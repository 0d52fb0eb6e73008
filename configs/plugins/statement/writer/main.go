// Command writer is a plugin that writes bank statements of fixed width: a header, a line a booking with the balance after it, and a
// trailer that adds up all bookings, which is known when the last row was seen.
package main

import "github.com/ubunye-io/ubunye/plugins/sdk"

func init() { sdk.Serve(statement{}) } // a module is called; its main never runs

func main() {}
