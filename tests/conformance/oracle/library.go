//go:build large
// +build large

package main

import (
	"archive/tar"
	"archive/zip"
	"database/sql"
	"debug/dwarf"
	"encoding/csv"
	"encoding/gob"
	"encoding/xml"
	"go/format"
	"go/types"
	"html/template"
	"image/jpeg"
	"image/png"
	"log"
	"math/big"
	"net/http"
	"net/http/httputil"
	"net/rpc"
	"os/exec"
)

func init() {
	ballast = append(ballast, library)
}

// html/template calls methods by name, so that all methods of all of these stay in.
func library() {
	log.Println(http.ListenAndServe("", httputil.NewSingleHostReverseProxy(nil)))
	log.Println(template.New("").Execute(nil, exec.Command("")))
	log.Println(tar.NewReader(nil).Next())
	log.Println(zip.NewReader(nil, 0))
	log.Println(sql.Open("", ""))
	log.Println(dwarf.New(nil, nil, nil, nil, nil, nil, nil, nil))
	log.Println(csv.NewReader(nil).ReadAll())
	log.Println(gob.NewDecoder(nil).Decode(nil), rpc.NewServer())
	log.Println(xml.NewDecoder(nil).Decode(nil))
	log.Println(format.Source(nil))
	log.Println(new(types.Config).Check("", nil, nil, nil))
	log.Println(png.Decode(nil))
	log.Println(jpeg.Decode(nil))
	log.Println(new(big.Float).Parse("", 0))
}
