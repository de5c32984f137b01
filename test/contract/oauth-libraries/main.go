package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	ctx := context.Background()
	acme := sourceOf(ctx, "acme")
	token, err := acme.Token()
	check(err)
	tell("token", token.AccessToken)

	_, err = sourceOf(ctx, "globex").Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		var problem struct{ Error string }
		check(json.Unmarshal(refused.Body, &problem))
		tell("denied", problem.Error)
	}

	expired := &oauth2.Token{AccessToken: token.AccessToken, Expiry: time.Unix(1, 0)}
	again, err := oauth2.ReuseTokenSource(expired, acme).Token()
	check(err)
	tell("again", again.AccessToken)
}

// Asks for each token anew; Config.TokenSource would keep it.
type asking func() (*oauth2.Token, error)

func (ask asking) Token() (*oauth2.Token, error) { return ask() }

func sourceOf(ctx context.Context, client string) oauth2.TokenSource {
	config := clientcredentials.Config{
		ClientID:     client,
		ClientSecret: os.Getenv("KEY"),
		TokenURL:     os.Getenv("TOKEN_URL"),
		Scopes:       []string{"customer-insights"},
	}
	return asking(func() (*oauth2.Token, error) { return config.Token(ctx) })
}

func tell(name string, value string) {
	check(json.NewEncoder(os.Stdout).Encode(map[string]string{name: value}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
