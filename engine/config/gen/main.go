// Command gen prints what follows from the one declaration of the pipeline file: `gen schema` its JSON
// Schema, `gen reference` its reference page. `make generate` keeps both in the repository.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/ubunye-io/ubunye/engine/config"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("want one word: schema or reference")
	}
	switch args[0] {
	case "schema":
		return schema(out, config.Fields())
	case "reference":
		return reference(out, config.Fields())
	}
	return fmt.Errorf("%q is not known: want schema or reference", args[0])
}
