// Receives webhooks: checks their signatures (https://www.standardwebhooks.com), prints events.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var sent int64
	fmt.Sscan(r.Header.Get("webhook-timestamp"), &sent)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", r.Header.Get("webhook-id"), sent, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	genuine := false
	for _, one := range strings.Fields(r.Header.Get("webhook-signature")) {
		genuine = genuine || hmac.Equal([]byte(one), []byte(expected))
	}
	if len(key) == 0 || !genuine || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		http.Error(w, "bad signature", http.StatusBadRequest)
		return
	}
	var event struct{ ID, Type string } // an ID may come twice: dedupe by it
	json.Unmarshal(body, &event)
	fmt.Println(event.Type, event.ID)
}

func main() {
	if os.Getenv("WEBHOOK_SECRET") == "" || os.Getenv("LISTEN_PORT") == "" {
		log.Fatal("Set WEBHOOK_SECRET, which POST /webhooks answers, and LISTEN_PORT of its url.")
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("LISTEN_PORT"), http.HandlerFunc(receive)))
}
