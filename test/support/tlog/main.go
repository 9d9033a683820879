// Prints what Go's own packages say of trees, proofs and notes, as the fixture of test/crypto/tlog.test.ts:
// cd test/support/tlog && go run . > vectors.ndjson
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type tree struct {
	Size int64  `json:"size"`
	Root string `json:"root"`
	// Those of the inclusion proofs and of the consistency proofs; absent for a small tree, see chosen.
	Leaves []int64 `json:"leaves,omitempty"`
	From   []int64 `json:"from,omitempty"`
	// SHA-256 over the hashes of these proofs, one after the other.
	Proofs string `json:"proofs"`
}

type tile struct {
	Path string `json:"path"`
	Hash string `json:"sha256"`
}

type signed struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Root   string `json:"root"`
	Note   string `json:"note"`
	Hash   string `json:"keyHash"`
	Opened bool   `json:"opened"`
}

type opened struct {
	Why    string `json:"why"`
	Note   string `json:"note"`
	Opened bool   `json:"opened"`
}

var stored []tlog.Hash
var reader = tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = stored[index]
	}
	return hashes, nil
})

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func digestOf(proofs [][]tlog.Hash) string {
	sum := sha256.New()
	for _, proof := range proofs {
		for _, hash := range proof {
			sum.Write(hash[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func treeOf(size int64, leaves, from []int64) tree {
	root := must(tlog.TreeHash(size, reader))
	var proofs [][]tlog.Hash
	for _, leaf := range leaves {
		proofs = append(proofs, must(tlog.ProveRecord(size, leaf, reader)))
	}
	for _, old := range from {
		proofs = append(proofs, must(tlog.ProveTree(size, old, reader)))
	}
	return tree{size, hex.EncodeToString(root[:]), leaves, from, digestOf(proofs)}
}

// chosen are all numbers below 12, then every 61st and the last.
func chosen(size int64) []int64 {
	var all []int64
	for n := int64(0); n < size; n++ {
		if n < 12 || n%61 == 0 || n == size-1 {
			all = append(all, n)
		}
	}
	return all
}

func trees(random *rand.Rand, count int64) []tree {
	var all []tree
	for size := int64(1); size <= 300; size++ {
		small := treeOf(size, chosen(size), chosen(size)[1:])
		small.Leaves, small.From = nil, nil
		all = append(all, small)
	}
	sizes := []int64{65535, 65536, 65537, count}
	for range 56 {
		sizes = append(sizes, 301+random.Int63n(count-300))
	}
	for _, size := range sizes {
		leaves, from := []int64{0, size - 1}, []int64{1, size - 1}
		for range 6 {
			leaves = append(leaves, random.Int63n(size))
			from = append(from, 1+random.Int63n(size))
		}
		all = append(all, treeOf(size, leaves, from))
	}
	return all
}

func tiles() []tile {
	var all []tile
	for _, place := range []tlog.Tile{
		{H: 8, L: 0, N: 0, W: 256}, {H: 8, L: 0, N: 0, W: 1}, {H: 8, L: 0, N: 67, W: 256}, {H: 8, L: 0, N: 273, W: 100},
		{H: 8, L: 1, N: 0, W: 256}, {H: 8, L: 1, N: 0, W: 200}, {H: 8, L: 1, N: 1, W: 17}, {H: 8, L: 2, N: 0, W: 1},
	} {
		sum := sha256.Sum256(must(tlog.ReadTileData(place, reader)))
		all = append(all, tile{place.Path(), hex.EncodeToString(sum[:])})
	}
	return all
}

func signers(name string) (note.Signer, note.Verifier) {
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(i)
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	verifier := must(note.NewVerifier(must(note.NewEd25519VerifierKey(name, public))))
	key := base64.StdEncoding.EncodeToString(append([]byte{1}, seed...))
	return must(note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", name, verifier.KeyHash(), key))), verifier
}

func notes() ([]signed, []opened) {
	var all []signed
	for i, name := range []string{"svc", "db.example.com", "gateway.example.com/audit", "wächter-🚦"} {
		size := []int64{1, 300, 65537, 70000}[i]
		root := must(tlog.TreeHash(size, reader))
		text := fmt.Sprintf("%s\n%d\n%s\n", name, size, root)
		signer, verifier := signers(name)
		made := string(must(note.Sign(&note.Note{Text: text}, signer)))
		_, err := note.Open([]byte(made), note.VerifierList(verifier))
		all = append(all, signed{name, size, hex.EncodeToString(root[:]), made, fmt.Sprintf("%08x", verifier.KeyHash()), err == nil})
	}
	good := all[0].Note
	text, line, _ := strings.Cut(good, "\n\n")
	other, _ := signers("other")
	both := string(must(note.Sign(&note.Note{Text: text + "\n"}, other)))
	_, otherLine, _ := strings.Cut(both, "\n\n")
	foreign := strings.Replace(otherLine, "other", "svc", 1)
	forms := []opened{
		{"as it was signed", good, false},
		{"another signature before", text + "\n\n" + otherLine + line, false},
		{"another signature after", text + "\n\n" + line + otherLine, false},
		{"the signature twice", text + "\n\n" + line + line, false},
		{"a signature of another key under this name", text + "\n\n" + foreign, false},
		{"only another signature", text + "\n\n" + otherLine, false},
		{"no signature", text + "\n\n", false},
		{"no newline at the end", strings.TrimSuffix(good, "\n"), false},
		{"another size", strings.Replace(good, "\n1\n", "\n2\n", 1), false},
		{"another origin", strings.Replace(good, "svc\n", "svd\n", 1), false},
		{"a hyphen for the dash", strings.Replace(good, "—", "-", 1), false},
		{"two blanks", strings.Replace(good, "— svc ", "— svc  ", 1), false},
		{"a carriage return", strings.Replace(good, "\n", "\r\n", 1), false},
		{"a tab", strings.Replace(good, "svc\n", "svc\t\n", 1), false},
		{"text after the signatures", good + "more\n", false},
		{"one blank line more", good + "\n", false},
		{"cut in the signature", good[:len(good)-9] + "\n", false},
		{"empty", "", false},
	}
	_, verifier := signers("svc")
	for i := range forms {
		_, err := note.Open([]byte(forms[i].Note), note.VerifierList(verifier))
		forms[i].Opened = err == nil
	}
	return all, forms
}

func main() {
	const count = 70000
	for n := int64(0); n < count; n++ {
		event := sha256.Sum256([]byte(fmt.Sprintf("event %d", n)))
		stored = append(stored, must(tlog.StoredHashes(n, event[:], reader))...)
	}
	made, forms := notes()
	printAll("tree", trees(rand.New(rand.NewSource(1)), count))
	printAll("tile", tiles())
	printAll("note", made)
	printAll("form", forms)
}

func printAll[T any](kind string, values []T) {
	for _, value := range values {
		if err := json.NewEncoder(os.Stdout).Encode(map[string]T{kind: value}); err != nil {
			panic(err)
		}
	}
}
