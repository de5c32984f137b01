// Carries out the orders on its standard input with the example for Go: a line with tabs in, a list in JSON out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

func main() {
	brokers := map[string]*BrokerToken{}
	keys := credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"),
		os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		order := append(strings.Split(lines.Text(), "\t"), "")
		times, _ := strconv.Atoi(order[1])
		pair := strings.Join(order[2:5], " ")
		broker := brokers[pair]
		if broker == nil {
			broker = &BrokerToken{URL: order[2], Client: order[3], Service: order[4], Keys: keys}
			brokers[pair] = broker
		}
		if order[0] == "frozen" {
			broker.lock.Lock()
			broker.running.began = broker.running.began.Add(-time.Minute)
			broker.lock.Unlock()
		}
		outcomes := make([]string, times)
		var group sync.WaitGroup
		for i := range outcomes {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				ctx, cancel := context.WithCancel(context.Background())
				if order[0] == "impatient" && i == times-1 {
					ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
				}
				defer cancel()
				outcomes[i] = told(broker.Get(ctx, order[5]))
			}(i)
		}
		if order[0] == "begin" {
			json.NewEncoder(os.Stdout).Encode([]string{})
			continue
		}
		group.Wait()
		if order[0] == "clock" && !strings.Contains(broker.kept.began.String()+broker.kept.ends.String(), "m=") {
			outcomes[0] = "wall clock"
		}
		json.NewEncoder(os.Stdout).Encode(outcomes)
	}
}

func told(token string, err error) string {
	if err == nil {
		return token
	}
	if answer, isAnswer := err.(Answer); isAnswer && answer.Retryable {
		return "retryable " + err.Error()
	}
	return err.Error()
}
