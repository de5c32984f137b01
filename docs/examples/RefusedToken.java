import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.time.*;
import java.util.regex.Pattern;

/** Calls one API with tokens of `token-broker-client serve`, and replaces a refused token: copy this file. */
class RefusedToken {
    private final HttpClient http = HttpClient.newHttpClient(); // Follows no redirect: the token would go along.
    private final String origin, form; // Scheme, host and port of the API; the token request.
    private final HttpRequest.Builder ask;
    private String last = "";
    private Instant end = Instant.MIN, askedAt = Instant.MIN;

    RefusedToken(String origin, URI tokenUrl, String key, String client, String service) {
        this.origin = origin;
        form = "grant_type=client_credentials&client_id=" + client + "&client_secret=" + key + "&scope=" + service;
        ask = HttpRequest.newBuilder(tokenUrl).timeout(Duration.ofSeconds(35))
            .header("Content-Type", "application/x-www-form-urlencoded");
    }

    /** Sends a request, and after a 401 once more, if there is another token and the body has a known length. */
    <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> to) throws Exception {
        var uri = request.uri();
        if (!origin.equals(uri.getScheme() + "://" + uri.getRawAuthority())) return http.send(request, to);
        var first = answer("", Instant.now());
        if (member(first, "access_token").isEmpty()) throw new IOException("no token: " + member(first, "type"));
        var response = http.send(authorized(request, first), to);
        if (response.statusCode() != 401) return response;
        var next = answer(member(first, "fingerprint"), Instant.now());
        var isRepeatable = request.bodyPublisher().map(body -> body.contentLength() >= 0).orElse(true);
        if (!isRepeatable || member(next, "access_token").isEmpty()) return response;
        return http.send(authorized(request, next), to);
    }

    /** What `serve` answers: asked for once by all threads that wait, also when it is a failure. */
    private synchronized String answer(String refused, Instant calledAt) throws InterruptedException {
        var isKept = Instant.now().isBefore(end) && !member(last, "fingerprint").equals(refused);
        if (isKept || askedAt.isAfter(calledAt)) return last;
        try {
            var post = ask.POST(HttpRequest.BodyPublishers.ofString(form + "&refused=" + refused)).build();
            last = http.send(post, HttpResponse.BodyHandlers.ofString()).body();
        } catch (IOException error) {
            last = "\"type\":\"network-error\"";
        }
        end = calledAt.plusSeconds(Long.parseLong("0" + member(last, "expires_in")));
        askedAt = Instant.now();
        return last;
    }

    private static HttpRequest authorized(HttpRequest request, String answer) {
        var copy = HttpRequest.newBuilder(request, (name, value) -> true);
        return copy.setHeader("Authorization", "Bearer " + member(answer, "access_token")).build();
    }

    private static String member(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":\"?((?<=\")[^\"]*|\\d+)").matcher(json);
        return found.find() ? found.group(1) : "";
    }
}
