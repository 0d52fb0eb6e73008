package e2e

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	inmemory "oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
)

// lockedPipeline writes with a plugin that it says nothing about.
const lockedPipeline = `name: locked
tasks: {t: {inputs: {r: {format: csv, path: in.csv}}, outputs: {r: {format: fixedwidth, path: lake, options: {widths: id=4 name=6}}}}}
`

func newLocked(t *testing.T) *project {
	t.Helper()
	p := newProject(t, lockedPipeline)
	p.write("in.csv", "id,name\n1,sun\n2,moon\n")
	return p
}

var lockedLines = []string{"   1sun   ", "   2moon  "}

// lock reads the lock, and holds it against its schema.
func (p *project) lock() (l struct {
	Plugins []struct {
		Name, Writer, SHA256, Path, Source string
		SignedBy                           string `json:"signed_by"`
		Earned                             []struct{ Mode, Class string }
	}
}) {
	p.t.Helper()
	data, err := os.ReadFile(p.path("ubunye.lock"))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := schema(p.t, "lock").Check(data); err != nil {
		p.t.Error(err)
	}
	if err := json.Unmarshal(data, &l); err != nil {
		p.t.Fatal(err)
	}
	return l
}

// A plugin in the lock is a format like any other; one that is not, or whose module has changed, is not.
func TestAPluginInTheLock(t *testing.T) {
	p := newLocked(t)
	digest := p.built(fixedWidthModule, "lib/fixed.wasm")
	p.run("run", "-c", "pipeline.yaml").must(t, 2).says(t, `there is no writer for the format "fixedwidth"`)
	p.run("plugin", "add", "lib/fixed.wasm").must(t, 2).oneLine(t).says(t, "plugin fixedwidth asks for the capability files, which is not granted (if it is to have it: --allow files)")
	p.run("plugin", "add", "lib/fixed.wasm", "--allow", "sql").must(t, 2).oneLine(t).says(t, `"sql" cannot be allowed (it may be files or table)`)
	if files := p.files("."); contains(files, "ubunye.lock") {
		t.Errorf("a refused plugin left %q", files)
	}
	r := p.run("plugin", "add", "lib/fixed.wasm", "--allow", "files", "--json").must(t, 0)
	if !strings.Contains(r.stdout, digest) {
		t.Errorf("%s", r.stdout)
	}
	if l := p.lock(); len(l.Plugins) != 1 || l.Plugins[0].Path != "lib/fixed.wasm" || l.Plugins[0].Source != "lib/fixed.wasm" || l.Plugins[0].SHA256 != digest {
		t.Errorf("%+v", l)
	}
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	same(t, "lines", p.lines("lake"), lockedLines)
	if r := p.run("plugin", "list").must(t, 0); !strings.Contains(r.stdout, "fixedwidth  1") {
		t.Errorf("%s", r.stdout)
	}
	if r := p.run("plugin", "inspect", "fixedwidth").must(t, 0); !strings.Contains(r.stdout, "  locked        from lib/fixed.wasm, not tested here\n") {
		t.Errorf("%s", r.stdout)
	}

	// The pipeline may change its limits, and takes the rest from the lock.
	p.write("pipeline.yaml", lockedPipeline+"plugins: {fixedwidth: {memory: 64MiB}}\n")
	p.run("run", "-c", "pipeline.yaml", "--rerun").must(t, 0)
	p.write("pipeline.yaml", lockedPipeline+"plugins: {fixedwidth: {sha256: \""+strings.Repeat("0", 64)+"\"}}\n")
	p.run("validate", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "pipeline.yaml:3:32: plugins.fixedwidth.sha256 is not the one that ubunye.lock pins, which is "+digest)
	p.write("pipeline.yaml", lockedPipeline+"plugins: {fixedwidth: {allow: {files: false}}}\n")
	p.run("validate", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "asks for the capability files, which the pipeline does not grant")

	p.write("pipeline.yaml", lockedPipeline)
	other := p.built(hostileModule("good"), "lib/fixed.wasm")
	p.run("run", "-c", "pipeline.yaml", "--rerun").must(t, 2).oneLine(t).says(t, "lib/fixed.wasm has SHA-256 "+other+"; "+digest+" is pinned; nothing was read or written")
	p.run("plugin", "add", "lib/fixed.wasm", "--name", "fixedwidth").must(t, 2).oneLine(t).says(t, "ubunye.lock pins fixedwidth with SHA-256 "+digest+", and lib/fixed.wasm has "+other, "--replace")
	p.run("plugin", "add", "lib/fixed.wasm", "--name", "fixed.width").must(t, 2).oneLine(t).says(t, `"fixed.width" is not a name`)
	p.run("plugin", "add", "lib/fixed.wasm", "--name", "fixedwidth", "--replace").must(t, 0)
	if l := p.lock(); l.Plugins[0].SHA256 != other || l.Plugins[0].Writer != "hostile" {
		t.Errorf("%+v", l)
	}
	p.run("plugin", "remove", "fixed").must(t, 2).oneLine(t).says(t, `ubunye.lock has no plugin "fixed" (known: fixedwidth)`)
	p.run("plugin", "remove", "fixedwidth", "--json").must(t, 0)
	if l := p.lock(); len(l.Plugins) != 0 || !contains(p.files("."), "lib/fixed.wasm") {
		t.Errorf("%+v, %q", l, p.files("."))
	}
	p.write("ubunye.lock", "{")
	p.run("run", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "ubunye.lock: it is no lock of plugins", "nothing was read or written")
}

// The weaker of the declared and the earned class holds: what its tests have shown not to be so, no pipeline relies on.
func TestTheEarnedClassHolds(t *testing.T) {
	p := newLocked(t)
	p.built(fixedWidthModule, "fixed.wasm")
	p.run("plugin", "add", "fixed.wasm", "--allow", "files").must(t, 0)
	data, err := os.ReadFile(p.path("ubunye.lock"))
	if err != nil {
		t.Fatal(err)
	}
	earned := func(list string) {
		p.write("ubunye.lock", strings.Replace(string(data), `"earned": []`, `"earned": [`+list+`]`, 1))
	}
	earned(`{"mode": "append", "class": "named", "kit": 1}`)
	p.run("run", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "plugin fixedwidth declares claims for mode append, and its tests have shown that it does not keep that")
	earned(`{"mode": "append", "class": "claims", "kit": 1}`)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	same(t, "lines", p.lines("lake"), lockedLines)
}

// With a trusted key in the lock every plugin must be signed by it, also one that the pipeline names itself.
func TestSignedPlugins(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	p := newLocked(t)
	digest := p.built(fixedWidthModule, "fixed.wasm")
	p.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	p.write("no.pem", "no key")
	wasm, err := os.ReadFile(p.path("fixed.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	add := func(more ...string) result {
		return p.run(append([]string{"plugin", "add", "fixed.wasm", "--allow", "files"}, more...)...)
	}
	add("--trust", "no.pem").must(t, 2).oneLine(t).says(t, "the key no.pem cannot be used")
	add("--trust", "key.pem").must(t, 2).oneLine(t).says(t, "fixed.wasm is not signed, and ubunye.lock has keys that every plugin must be signed by (the signature of a file is beside it, as fixed.wasm.sig")
	p.write("fixed.wasm.sig", string(ed25519.Sign(private, wasm[1:])))
	add("--trust", "key.pem").must(t, 2).oneLine(t).says(t, "fixed.wasm is not signed by a key that ubunye.lock trusts")
	p.write("fixed.wasm.sig", string(ed25519.Sign(private, wasm)))
	add("--trust", "key.pem").must(t, 0)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)

	// From now on unsigned ones are refused, however they are named.
	p.built(hostileModule("good"), "good.wasm")
	p.run("plugin", "add", "good.wasm").must(t, 2).oneLine(t).says(t, "good.wasm is not signed")
	p.write("pipeline.yaml", strings.Replace(lockedPipeline, "format: fixedwidth", "format: own", 1)+"plugins: {own: {path: fixed.wasm, sha256: "+digest+", allow: {files: true}}}\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "plugin own is not in ubunye.lock, which has keys that every plugin must be signed by")
	p.write("pipeline.yaml", lockedPipeline)
	data, err := os.ReadFile(p.path("ubunye.lock"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("ubunye.lock", strings.Replace(string(data), `"signed_by": "`, `"signed_by": "A`, 1))
	p.run("run", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "plugin fixedwidth is not signed by a key that ubunye.lock trusts")
}

// A module from the web, or of a registry, is kept beside the lock, and goes with its entry.
func TestPluginsFromElsewhere(t *testing.T) {
	wasm, err := os.ReadFile(fixedWidthModule)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/fixed.wasm" {
			http.NotFound(w, req)
			return
		}
		w.Write(wasm)
	}))
	defer web.Close()
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	oci := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer oci.Close()
	reference := strings.TrimPrefix(oci.URL, "http://") + "/writers/fixed"
	digest := publish(t, reference, "1", wasm)
	for source, resolved := range map[string]string{web.URL + "/fixed.wasm": web.URL + "/fixed.wasm", "oci://" + reference + ":1": "oci://" + reference + "@" + digest} {
		p := newLocked(t)
		p.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
		p.env = []string{"SSL_CERT_FILE=" + p.path("ca.pem"), "DOCKER_CONFIG=" + p.dir}
		p.run("plugin", "add", source+"x", "--allow", "files").must(t, 2).oneLine(t).says(t, source+"x: ")
		p.run("plugin", "add", source, "--allow", "files").must(t, 0)
		l := p.lock()
		if len(l.Plugins) != 1 || l.Plugins[0].Source != resolved || l.Plugins[0].Path != "plugins/fixedwidth.wasm" || l.Plugins[0].SHA256 != fmt.Sprintf("%x", sha256.Sum256(wasm)) {
			t.Errorf("%+v", l)
		}
		p.run("run", "-c", "pipeline.yaml").must(t, 0)
		same(t, "lines", p.lines("lake"), lockedLines)
		p.run("plugin", "remove", "fixedwidth").must(t, 0)
		if files := p.files("plugins"); len(files) != 0 {
			t.Errorf("left in the folder: %q", files)
		}
	}
}

// publish puts a module into a registry, as `oras push` does, and gives the digest of its manifest.
func publish(t *testing.T, reference, tag string, wasm []byte) string {
	t.Helper()
	repository, err := remote.NewRepository(reference)
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	store := inmemory.New()
	layer, err := oras.PushBytes(t.Context(), store, "application/wasm", wasm)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/vnd.wasm.config.v0+json", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
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
