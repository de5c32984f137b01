// BrokerToken asks a token broker for a token, signed as the role of a Lambda function: copy this file.
// Call the service with the token of Get(ctx, ""), and after a 401 once more with that of Get(ctx, token).
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"math"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

type BrokerToken struct {
	URL, Client, Service string                  // URL: https://<host>. AWS_REGION counts where it names no region.
	Keys                 aws.CredentialsProvider // The Credentials of config.LoadDefaultConfig.
	lock                 sync.Mutex
	kept                 attempt
	running              *attempt
}

// attempt is a request for a token. Its times are on the wall clock: the monotonic one stops in a frozen Lambda.
type attempt struct {
	refused, token string
	began, ends    time.Time
	err            error
	done           chan struct{}
}

// Answer is a token, or as an error a problem (RFC 9457), a refusal by AWS (aws-forbidden), or another (http-502).
type Answer struct {
	AccessToken  string  `json:"access_token"`
	ExpiresIn    float64 `json:"expires_in"` // Seconds.
	Type, Detail string
	Retryable    bool
	RequestID    string `json:"request_id"`
	retryAfter   time.Duration
}

func (a Answer) Error() string {
	return strings.TrimSuffix(a.Type+": "+a.Detail+" (request "+a.RequestID+")", " (request )")
}

// Get returns the token, or the successor of a token that the service refused. All goroutines that wait share a
// request. The end of ctx ends the wait, but not the request.
func (t *BrokerToken) Get(ctx context.Context, refused string) (string, error) {
	t.lock.Lock()
	now := time.Now().Round(0)
	if kept := t.kept; kept.token != refused && !now.Before(kept.began) && now.Before(kept.ends) {
		t.lock.Unlock()
		return kept.token, nil
	}
	asked := t.running
	if asked == nil || now.Sub(asked.began) > 30*time.Second { // Lambda was frozen meanwhile.
		asked = &attempt{refused: refused, began: now, done: make(chan struct{})}
		t.running = asked
		go t.run(asked)
	}
	t.lock.Unlock()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-asked.done:
	}
	if asked.refused != refused {
		return t.Get(ctx, refused)
	}
	return asked.token, asked.err
}

func (t *BrokerToken) run(asked *attempt) {
	answer := t.ask(asked.refused)
	if wait := answer.retryAfter; answer.Type == "refused-again" && 0 < wait && wait < 10*time.Second {
		time.Sleep(wait) // The service did not know its new token yet.
		answer.AccessToken = asked.refused
	}
	if asked.token = answer.AccessToken; asked.token == "" {
		asked.err = answer
	}
	life := answer.ExpiresIn - math.Min(30, answer.ExpiresIn/5)
	asked.ends = asked.began.Add(time.Duration(life * float64(time.Second)))
	t.lock.Lock()
	defer t.lock.Unlock()
	if life > 0 {
		t.kept = *asked
	}
	if t.running == asked {
		t.running = nil
	}
	close(asked.done)
}

func (t *BrokerToken) ask(refused string) (answer Answer) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	members := map[string]string{"client": t.Client, "service": t.Service}
	if refused != "" {
		members["refused"] = hash([]byte(refused))[:16]
	}
	body, _ := json.Marshal(members)
	request, err := http.NewRequestWithContext(ctx, "POST", strings.TrimRight(t.URL, "/")+"/token", bytes.NewReader(body))
	keys, noKeys := t.Keys.Retrieve(ctx)
	region := append(functionURL.FindStringSubmatch(t.URL), "", os.Getenv("AWS_REGION"))[1] // That of the URL first.
	if err != nil || noKeys != nil || region == "" {
		return Answer{Type: "settings", Detail: "the URL is wrong, or there are no AWS keys, or no AWS_REGION"}
	}
	request.Close = true // A kept connection is dead after a freeze.
	request.Header.Set("Content-Type", "application/json")
	v4.NewSigner().SignHTTP(ctx, keys, request, hash(body), "lambda", region, time.Now())
	response, err := http.DefaultTransport.RoundTrip(request) // Follows no redirect.
	if err != nil {
		for errors.Unwrap(err) != nil { // Its text may quote what was sent.
			err = errors.Unwrap(err)
		}
		return Answer{Type: "network-error", Detail: fmt.Sprintf("there was no answer: %T", err), Retryable: true}
	}
	defer response.Body.Close()
	json.NewDecoder(response.Body).Decode(&answer)
	if answer.RequestID == "" && answer.AccessToken == "" { // The text of AWS may repeat the signed request.
		said := errorType.FindString(response.Header.Get("X-Amzn-ErrorType"))
		status := response.StatusCode
		answer = Answer{Type: fmt.Sprintf("http-%d", status), Detail: "AWS or a proxy has answered: " + said}
		answer.Retryable = status == 429 || status >= 500
		if refusal, isKnown := refusals[said]; isKnown {
			answer = refusal
		}
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	answer.retryAfter = time.Duration(seconds) * time.Second
	return answer
}

func hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

var functionURL = regexp.MustCompile(`\.lambda-url\.([^.]+)\.on\.`)
var errorType = regexp.MustCompile(`^\w{1,64}`)
var refusals = map[string]Answer{
	"AccessDeniedException":        {Type: "aws-forbidden", Detail: "attach the policy that the command `policy` prints"},
	"ExpiredTokenException":        {Type: "aws-security-token-expired", Detail: "renew the AWS keys, which have expired"},
	"IncompleteSignatureException": {Type: "aws-refused", Detail: "check that no proxy changes the request"},
	"InvalidSignatureException":    {Type: "aws-signature-mismatch", Detail: "check the clock, region and secret key"},
	"UnrecognizedClientException":  {Type: "aws-security-token-invalid", Detail: "use AWS keys that belong together"},
}
