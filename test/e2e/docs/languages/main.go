// Carries out the orders on its standard input with the examples for Go: a line with tabs in, a list in JSON out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	config := clientcredentials.Config{
		ClientID: "acme", ClientSecret: os.Getenv("KEY"), Scopes: []string{"customer-insights"},
		TokenURL: os.Getenv("TOKEN_URL"), AuthStyle: oauth2.AuthStyleInParams,
	}
	client := &http.Client{Transport: &RefusedToken{Config: config, Origin: os.Getenv("ORIGIN")}}
	brokers := map[string]*BrokerToken{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		order := strings.Split(lines.Text(), "\t")
		times, _ := strconv.Atoi(order[1])
		if order[0] == "token" && brokers[order[2]] == nil {
			brokers[order[2]] = &BrokerToken{URL: os.Getenv("TOKEN_BROKER_URL"), Region: "us-east-1",
				Client: order[2], Service: order[3], Keys: aws.CredentialsProviderFunc(keys)}
		}
		outcomes := make([]string, times)
		var group sync.WaitGroup
		for i := range outcomes {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				switch order[0] {
				case "get":
					outcomes[i] = told(client.Get(order[2]))
				case "post":
					outcomes[i] = told(client.Post(order[2], "text/plain", strings.NewReader(order[3])))
				case "stream":
					outcomes[i] = told(client.Post(order[2], "text/plain", io.MultiReader(strings.NewReader(order[3]))))
				case "token":
					token, err := brokers[order[2]].Get(context.Background())
					if outcomes[i] = token; err != nil {
						outcomes[i] = err.Error()
					}
				}
			}(i)
		}
		group.Wait()
		json.NewEncoder(os.Stdout).Encode(outcomes)
	}
}

func told(response *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	response.Body.Close()
	return strconv.Itoa(response.StatusCode)
}

func keys(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN")}, nil
}
