package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	tell("token", "acme")
	tell("denied", "globex")
	tell("again", "acme")
}

func tell(name, client string) {
	config := clientcredentials.Config{ClientID: client, ClientSecret: os.Getenv("KEY"), TokenURL: os.Getenv("TOKEN_URL"),
		Scopes: []string{"customer-insights"}, AuthStyle: oauth2.AuthStyleInParams}
	token, err := config.Token(context.Background())
	told := map[string]string{}
	var refusal *oauth2.RetrieveError
	if errors.As(err, &refusal) {
		var problem map[string]any
		json.Unmarshal(refusal.Body, &problem)
		told[name], _ = problem["error"].(string)
	} else {
		told[name] = token.AccessToken
	}
	json.NewEncoder(os.Stdout).Encode(told)
}
