package fetch

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
)

var wasm = []byte("\x00asm\x01\x00\x00\x00 a module")

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want one line that says %q", err, text)
	}
}

func TestAFileAndItsSignature(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.wasm")
	_, err := Fetcher{}.Fetch(t.Context(), path)
	wantError(t, err, path+": it cannot be read: no such file")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Fetcher{}.Fetch(t.Context(), path)
	if err != nil || !bytes.Equal(m.Contents, wasm) || m.Signature != nil || m.Resolved != path {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := os.WriteFile(path+".sig", []byte("signed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = (Fetcher{}).Fetch(t.Context(), path); err != nil || string(m.Signature) != "signed" {
		t.Fatalf("%+v, %v", m, err)
	}
}

func TestSourcesThatAreNone(t *testing.T) {
	for source, says := range map[string]string{
		"http://example.com/m.wasm": "whoever is on the way could send another module",
		"ftp://example.com/m.wasm":  "ftp:// is no kind of source",
		"https:///m.wasm":           "it is no address",
		"oci://nothing":             "invalid reference",
		"oci://127.0.0.1:1/a/b":     "it names neither a tag nor a digest",
	} {
		_, err := Fetcher{}.Fetch(t.Context(), source)
		wantError(t, err, source+": ")
		wantError(t, err, says)
	}
}

func TestTheWeb(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(wasm) }))
	defer plain.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/signed.wasm", "/unsigned.wasm":
			w.Write(wasm)
		case "/signed.wasm.sig":
			w.Write([]byte("signed"))
		case "/empty":
		case "/broken.sig", "/broken":
			http.Error(w, "no", http.StatusInternalServerError)
		case "/on":
			http.Redirect(w, req, plain.URL, http.StatusFound)
		case "/large":
			io.CopyN(w, endless{}, MaxModule+1)
		default:
			http.NotFound(w, req)
		}
	}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f := Fetcher{Client: server.Client()}
	m, err := f.Fetch(t.Context(), server.URL+"/signed.wasm")
	if err != nil || !bytes.Equal(m.Contents, wasm) || string(m.Signature) != "signed" {
		t.Fatalf("%+v, %v", m, err)
	}
	if m, err = f.Fetch(t.Context(), server.URL+"/unsigned.wasm"); err != nil || m.Signature != nil {
		t.Fatalf("%+v, %v", m, err)
	}
	for path, says := range map[string]string{"/empty": "it is empty", "/broken": "the server answered 500", "/nothing": "the server answered 404",
		"/on": "it leads on to http://", "/large": "it has more than 67108864 bytes"} {
		_, err := f.Fetch(t.Context(), server.URL+path)
		wantError(t, err, says)
	}
	_, err = Fetcher{}.Fetch(t.Context(), server.URL+"/signed.wasm") // whose certificate nobody else knows
	wantError(t, err, "certificate")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	if _, err := f.Fetch(ctx, server.URL+"/signed.wasm"); err == nil || err.Error() != "stopped" {
		t.Errorf("cancelled: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// push publishes layers in a registry under a tag, and gives the manifest's digest.
func push(t *testing.T, host, tag string, annotations map[string]string, layers ...ocispec.Descriptor) string {
	t.Helper()
	repository, err := remote.NewRepository(host + "/plugins/m")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	store := memory.New()
	for _, l := range layers {
		if err := store.Push(t.Context(), l, bytes.NewReader(l.Data)); err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/vnd.wasm.config.v0+json",
		oras.PackManifestOptions{Layers: layers, ManifestAnnotations: annotations})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(t.Context(), manifest, tag); err != nil {
		t.Fatal(err)
	}
	if _, err := oras.Copy(t.Context(), store, tag, repository, tag, oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	return manifest.Digest.String()
}

func layer(mediaType string, data []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Size: int64(len(data)), Digest: digestOf(data)}
	d.Data = data
	return d
}

func TestARegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := strings.TrimPrefix(server.URL, "http://")
	const kind = "application/wasm"
	digest := push(t, host, "1.0", map[string]string{SignatureAnnotation: "signed"}, layer("text/plain", []byte("read me")), layer(kind, wasm))
	push(t, host, "two", nil, layer(kind, wasm), layer(kind, []byte("another")))
	push(t, host, "none", nil, layer("text/plain", []byte("read me")))
	resolved := "oci://" + host + "/plugins/m@" + digest
	for _, source := range []string{"oci://" + host + "/plugins/m:1.0", resolved} {
		m, err := Fetcher{}.Fetch(t.Context(), source)
		if err != nil || !bytes.Equal(m.Contents, wasm) || string(m.Signature) != "signed" || m.Resolved != resolved {
			t.Errorf("%s: %+v, %v", source, m, err)
		}
	}
	for tag, says := range map[string]string{"two": "it has 2 layers that are modules", "none": "it has 0 layers that are modules", "gone": "not found"} {
		_, err := Fetcher{}.Fetch(t.Context(), "oci://"+host+"/plugins/m:"+tag)
		wantError(t, err, says)
	}
}

func TestSignatures(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	if err != nil || key != base64.StdEncoding.EncodeToString(public) {
		t.Fatalf("%q, %v", key, err)
	}
	stranger, err := ParseKey([]byte(base64.StdEncoding.EncodeToString(other) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	signature := ed25519.Sign(private, wasm)
	for what, c := range map[string]struct {
		m    Module
		keys []string
		want string
	}{
		"raw":             {Module{Contents: wasm, Signature: signature}, []string{stranger, key}, key},
		"base64":          {Module{Contents: wasm, Signature: []byte(base64.StdEncoding.EncodeToString(signature) + "\n")}, []string{key}, key},
		"another module":  {Module{Contents: wasm[1:], Signature: signature}, []string{key}, ""},
		"another key":     {Module{Contents: wasm, Signature: signature}, []string{stranger}, ""},
		"no key":          {Module{Contents: wasm, Signature: signature}, nil, ""},
		"no signature":    {Module{Contents: wasm}, []string{key}, ""},
		"a text":          {Module{Contents: wasm, Signature: []byte("signed")}, []string{key}, ""},
		"a damaged key":   {Module{Contents: wasm, Signature: signature}, []string{"x"}, ""},
		"a short one":     {Module{Contents: wasm, Signature: signature[1:]}, []string{key}, ""},
		"no key's length": {Module{Contents: wasm, Signature: signature}, []string{"aaaa"}, ""},
	} {
		if got := c.m.Signer(c.keys); got != c.want {
			t.Errorf("%s: signed by %q, want %q", what, got, c.want)
		}
	}
	for _, text := range []string{"", "aaaa", "-----BEGIN PUBLIC KEY-----\nMAo=\n-----END PUBLIC KEY-----"} {
		if _, err := ParseKey([]byte(text)); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}

func digestOf(data []byte) digest.Digest { return digest.FromBytes(data) }
