// Command writer is a plugin that delivers rows to a host, as JSON arrays of some hundred rows, each with an Idempotency-Key. Its
// target folder is the outbox: what was delivered stays there as it was sent, and a log says which of it the host has taken.
package main

import "github.com/ubunye-io/ubunye/plugins/sdk"

func init() { sdk.Serve(delivery{}) } // a module is called; its main never runs

func main() {}
