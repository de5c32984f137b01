// Carries out each order on its standard input in a goroutine with the example for Go, and prints its outcome.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

func main() {
	brokers := map[string]*BrokerToken{}
	keys := credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"),
		os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		order := append(strings.Split(lines.Text(), "\t"), "")
		pair := strings.Join(order[2:5], " ")
		broker := brokers[pair]
		if broker == nil {
			broker = &BrokerToken{URL: order[2], Client: order[3], Service: order[4], Keys: keys}
			brokers[pair] = broker
		}
		if order[1] == "frozen" {
			broker.lock.Lock()
			broker.running.began = broker.running.began.Add(-time.Minute)
			broker.lock.Unlock()
		}
		go func() {
			fmt.Printf("%s\t%s\n", order[0], strings.ReplaceAll(outcome(broker, order[1], order[5]), "\n", "\\n"))
		}()
	}
}

func outcome(broker *BrokerToken, kind, refused string) string {
	limit := time.Minute
	if kind == "impatient" {
		limit = 300 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	token, err := broker.Get(ctx, refused)
	if answer, isAnswer := err.(Answer); isAnswer && answer.Retryable {
		return "retryable " + err.Error()
	}
	if err != nil {
		return err.Error()
	}
	if kind == "clock" && !strings.Contains(broker.kept.began.String()+broker.kept.ends.String(), "m=") {
		return "wall clock"
	}
	return token
}
