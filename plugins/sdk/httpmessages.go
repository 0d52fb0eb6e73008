package sdk

import (
	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

func encodeHTTPRequest(m abi.HTTPRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("method").Text(m.Method)
			e.Field("url").Text(m.URL)
			e.PairsIf("headers", m.Headers)
			if len(m.Body) > 0 {
				e.Field("body").Blob(m.Body)
			}
		})
	}
}

func decodeHTTPAnswer(d *jsontext.Decoder) (m abi.HTTPAnswer) {
	d.Object(func(name string) {
		switch name {
		case "status":
			m.Status = int(d.Long(32))
		case "headers":
			m.Headers = d.Pairs()
		case "body":
			m.Body = d.Blob()
		case "truncated":
			m.Truncated = d.Bool()
		default:
			d.Raw()
		}
	})
	return m
}
