package abi

// HTTPRequest asks a host that the pipeline lists. It is sent once: redirects are not followed, and nothing is tried again. A failure has
// the code not_sent, when nothing was sent, no_answer, or refused: of a host that is not listed, or of a method that is for commit.
type HTTPRequest struct {
	Method  string            `json:"method"`            // as "POST"
	URL     string            `json:"url"`               // of a host that the pipeline lists
	Headers map[string]string `json:"headers,omitempty"` // fields of the header; ${NAME} in a value stands for a secret that the pipeline lists and the module never sees
	Body    []byte            `json:"body,omitempty"`    // in base64
}

// HTTPAnswer is what the host said, whatever its status is.
type HTTPAnswer struct {
	Status    int               `json:"status"`              // the HTTP status code, as 200
	Headers   map[string]string `json:"headers"`             // fields of the header, by name in lower case
	Body      []byte            `json:"body"`                // at most 1 MiB of it, in base64; secrets are blotted out
	Truncated bool              `json:"truncated,omitempty"` // there was more
}

// Reads tells whether a request changes nothing at the host, if the host keeps to RFC 9110.
func (r HTTPRequest) Reads() bool { return r.Method == "GET" || r.Method == "HEAD" }
