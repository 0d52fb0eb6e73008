package writer_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// helperVariable has the test binary run as another process of the program: it plans with the module
// that helperPath names, or the built-in, and a cache in the folder that the variable names.
const (
	helperVariable = "WRITER_TEST_HELPER"
	helperPath     = "WRITER_TEST_MODULE"
)

func helper() int {
	ctx := context.Background()
	h, err := writer.New(writer.Config{CacheDir: os.Getenv(helperVariable)})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	m := writer.Module{Name: "parquet", Path: os.Getenv(helperPath)}
	s, err := h.Start(ctx, m, writer.Limits{}, writer.Grants{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer s.Close()
	fmt.Println(s.Child())
	plan, err := s.Plan(ctx, abi.PlanRequest{Output: parquetOutput()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(plan.Class)
	return 0
}
