package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// Media types of a layer that is a module: the one that the CNCF's guidance for Wasm artifacts names, and those that
// tools wrote before it.
var wasmTypes = []string{"application/wasm", "application/vnd.wasm.content.layer.v1+wasm", "application/vnd.module.wasm.content.layer.v1+wasm"}

// SignatureAnnotation of a manifest, or of its layer, holds the module's signature in base64.
const SignatureAnnotation = "io.ubunye.signature.ed25519"

// maxManifest is the most bytes of a manifest.
const maxManifest = 4 << 20

// fromRegistry gets the one layer of an artifact that is a module. Each piece is checked against the digest that names it.
func (f Fetcher) fromRegistry(ctx context.Context, source string) (m Module, err error) {
	repository, err := f.repository(strings.TrimPrefix(source, "oci://"))
	if err != nil {
		return m, err
	}
	wanted := repository.Reference.Reference
	if wanted == "" {
		return m, &Error{Message: "it names neither a tag nor a digest", Hint: "as in " + source + ":1.0"}
	}
	found, text, err := oras.FetchBytes(ctx, repository, wanted, oras.FetchBytesOptions{MaxBytes: maxManifest})
	if err != nil {
		return m, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil || found.MediaType != ocispec.MediaTypeImageManifest && !strings.Contains(found.MediaType, "manifest.v2") {
		return m, &Error{Message: "it is no artifact but " + found.MediaType}
	}
	layer, err := moduleLayer(manifest)
	if err != nil {
		return m, err
	}
	blob, err := repository.Fetch(ctx, layer)
	if err != nil {
		return m, err
	}
	defer blob.Close()
	if m.Contents, err = content.ReadAll(blob, layer); err != nil {
		return m, err
	}
	for _, annotations := range []map[string]string{manifest.Annotations, layer.Annotations} {
		if s := annotations[SignatureAnnotation]; s != "" {
			m.Signature = []byte(s)
		}
	}
	m.Resolved = "oci://" + repository.Reference.Registry + "/" + repository.Reference.Repository + "@" + found.Digest.String()
	return m, nil
}

// moduleLayer finds the layer that is a module.
func moduleLayer(m ocispec.Manifest) (ocispec.Descriptor, error) {
	modules := slices.DeleteFunc(slices.Clone(m.Layers), func(d ocispec.Descriptor) bool { return !slices.Contains(wasmTypes, d.MediaType) })
	if len(modules) != 1 {
		return ocispec.Descriptor{}, &Error{Message: fmt.Sprintf("it has %d layers that are modules; one is wanted", len(modules)), Hint: "push the module as one layer of the type " + wasmTypes[0]}
	}
	if modules[0].Size > MaxModule {
		return modules[0], &Error{Message: fmt.Sprintf("it has more than %d bytes", MaxModule)}
	}
	return modules[0], nil
}

// repository opens a reference. Who asks is known by what `docker login` has kept. A registry on this machine itself may speak
// without TLS: nobody is on the way.
func (f Fetcher) repository(reference string) (*remote.Repository, error) {
	repository, err := remote.NewRepository(reference)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(repository.Reference.Registry)
	if err != nil {
		host = repository.Reference.Registry
	}
	ip := net.ParseIP(host)
	repository.PlainHTTP = host == "localhost" || ip != nil && ip.IsLoopback()
	client := &auth.Client{Client: f.client(), Cache: auth.NewCache()}
	if repository.PlainHTTP {
		client.Client = f.local()
	}
	if store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{}); err == nil {
		client.Credential = credentials.Credential(store)
	}
	repository.Client = client
	return repository, nil
}
