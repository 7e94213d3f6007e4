// A service under load, all in one process: what clients ask for is searched, sorted, rendered and
// compressed. It ends when its standard input does.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sort"
	"strings"
)

type order struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  map[string]string `json:"tags"`
}

var page = template.Must(template.New("page").Parse(
	`<ul>{{range .}}<li class="{{.Name}}">{{.ID}}: {{printf "%.2f" .Price}} {{range $k, $v := .Tags}}{{$k}}={{$v}} {{end}}</li>{{end}}</ul>`))

var name = regexp.MustCompile(`^(\w+)-(\d+)([a-f]*)$`)

func decode(body io.Reader) ([]order, error) {
	var orders []order
	err := json.NewDecoder(body).Decode(&orders)
	return orders, err
}

func choose(orders []order) []order {
	chosen := orders[:0]
	for _, o := range orders {
		if name.MatchString(o.Name) && len(o.Tags) > 1 {
			chosen = append(chosen, o)
		}
	}
	sort.Slice(chosen, func(i, j int) bool { return chosen[i].Price < chosen[j].Price })
	return chosen
}

func render(w http.ResponseWriter, r *http.Request) {
	orders, err := decode(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(w)
	defer packed.Close()
	page.Execute(packed, choose(orders))
}

func digest(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for range 20 {
		sum := sha256.Sum256(body)
		body = append(body[:0:0], strings.ToUpper(fmt.Sprintf("%x", sum))...)
	}
	w.Write(body)
}

func someOrders(random *rand.Rand) []byte {
	orders := make([]order, 40)
	for i := range orders {
		orders[i] = order{random.Int(), fmt.Sprintf("item-%x", random.Int31()), random.Float64(),
			map[string]string{"shop": fmt.Sprint(random.Intn(9)), "colour": "blue"}}
	}
	body, _ := json.Marshal(orders)
	return body
}

func ask(url string, seed int64) {
	random := rand.New(rand.NewSource(seed))
	for {
		path := []string{"/render", "/digest"}[random.Intn(2)]
		answer, err := http.Post(url+path, "application/json", bytes.NewReader(someOrders(random)))
		if err != nil {
			continue
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}

func main() {
	http.HandleFunc("/render", render)
	http.HandleFunc("/digest", digest)
	server := httptest.NewServer(http.DefaultServeMux)
	for client := range 8 {
		go ask(server.URL, int64(client))
	}
	io.Copy(io.Discard, os.Stdin)
}
