// RefusedToken calls an API with tokens of `token-broker-client serve`, and replaces a token that the API refuses.
// Copy this file: http.Client{Transport: &RefusedToken{Config: config, Origin: "https://insights.example.com"}}
package main

import (
	"context"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"net/http"
	"net/url"
	"sync"
	"time"
)

type RefusedToken struct {
	Config  clientcredentials.Config
	Origin  string // Scheme, host and port: no other gets the token, also after a redirect.
	lock    sync.Mutex
	askedAt time.Time
	token   *oauth2.Token
	err     error
}

func (t *RefusedToken) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme+"://"+request.URL.Host != t.Origin {
		return http.DefaultTransport.RoundTrip(request)
	}
	token, err := t.get("")
	if err != nil {
		return nil, err
	}
	response, err := (&oauth2.Transport{Source: oauth2.StaticTokenSource(token)}).RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	token, err = t.get(token.Extra("fingerprint").(string))
	if err != nil || (request.Body != nil && request.GetBody == nil) {
		return response, nil // There is no other token, or the body cannot be sent again.
	}
	response.Body.Close()
	if request.GetBody != nil {
		request = request.Clone(request.Context())
		request.Body, _ = request.GetBody()
	}
	return (&oauth2.Transport{Source: oauth2.StaticTokenSource(token)}).RoundTrip(request)
}

func (t *RefusedToken) get(refused string) (*oauth2.Token, error) {
	calledAt := time.Now()
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.token.Valid() && t.token.Extra("fingerprint") != refused || t.askedAt.After(calledAt) {
		return t.token, t.err // Another goroutine has asked meanwhile, perhaps in vain.
	}
	t.Config.EndpointParams = url.Values{"refused": {refused}}
	client := &http.Client{Timeout: 35 * time.Second}
	t.token, t.err = t.Config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	t.askedAt = time.Now()
	return t.token, t.err
}
