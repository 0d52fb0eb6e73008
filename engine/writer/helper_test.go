package writer_test

// helperVariable has the test binary run as another process of the program.
const helperVariable = "WRITER_TEST_HELPER"

func helper() int { return 0 }
