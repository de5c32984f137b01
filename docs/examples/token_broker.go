// BrokerToken asks a token broker for a token, signed as the role of a Lambda function: copy this file.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"net/http"
	"sync"
	"time"
)

type BrokerToken struct {
	URL, Region, Client, Service string                  // URL: https://<host>
	Keys                         aws.CredentialsProvider // The Credentials of config.LoadDefaultConfig.
	lock                         sync.Mutex
	last                         Answer
	endedAt, usable              time.Time
}

// Answer is a token, or as an error a problem (RFC 9457), another answer (http-403), or none (network-error).
type Answer struct {
	AccessToken  string        `json:"access_token"`
	ExpiresIn    time.Duration `json:"expires_in"` // Seconds.
	Type, Detail string
	RequestID    string `json:"request_id"`
}

func (a Answer) Error() string { return a.Type + " (request " + a.RequestID + "): " + a.Detail }

// Get returns the token until 30 s before its end, or asks once for all goroutines that wait, without a repetition.
func (t *BrokerToken) Get(ctx context.Context) (string, error) {
	calledAt := time.Now()
	t.lock.Lock()
	defer t.lock.Unlock()
	if time.Now().After(t.usable) && calledAt.After(t.endedAt) {
		t.last, t.endedAt = t.ask(ctx), time.Now()
		t.usable = calledAt.Add((t.last.ExpiresIn - 30) * time.Second)
	}
	if t.last.AccessToken == "" {
		return "", t.last
	}
	return t.last.AccessToken, nil
}

func (t *BrokerToken) ask(ctx context.Context) (answer Answer) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	body, _ := json.Marshal(map[string]string{"client": t.Client, "service": t.Service})
	request, err := http.NewRequestWithContext(ctx, "POST", t.URL+"/token", bytes.NewReader(body))
	keys, noKeys := t.Keys.Retrieve(ctx)
	if err != nil || noKeys != nil {
		return Answer{Type: "settings", Detail: "the URL is wrong, or there are no AWS credentials"}
	}
	request.Header.Set("Content-Type", "application/json")
	v4.NewSigner().SignHTTP(ctx, keys, request, fmt.Sprintf("%x", sha256.Sum256(body)), "lambda", t.Region, time.Now())
	answer = Answer{Type: "network-error", Detail: "there was no answer"}
	if response, err := http.DefaultTransport.RoundTrip(request); err == nil { // Follows no redirect.
		defer response.Body.Close()
		json.NewDecoder(response.Body).Decode(&answer)
		if answer.RequestID == "" { // AWS's text may repeat the signed request.
			answer.Type, answer.Detail = fmt.Sprintf("http-%d", response.StatusCode), "AWS or a proxy has answered"
		}
	}
	return answer
}
