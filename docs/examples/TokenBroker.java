import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.security.*;
import java.time.*;
import java.util.*;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.UTF_8;

/** Asks a token broker for tokens: copy this file. `env` is System.getenv(): TOKEN_BROKER_URL, AWS_REGION of the broker
 * and the AWS keys of a Lambda function (not with SnapStart). A token is kept until 30 s before its end. */
class TokenBroker {
    /** The type is that of the broker's problem (RFC 9457), or `http-403` and the like, or `network-error`. */
    static class Failure extends IOException {
        final String type, requestId;
        Failure(String type, String detail, String requestId) {
            super(type + ": " + detail + (requestId.isEmpty() ? "" : " (request " + requestId + ")"));
            this.type = type; this.requestId = requestId;
        }
    }

    private record Answer(int status, String json, Instant end, Instant at) {}
    private final HttpClient http = HttpClient.newHttpClient(); // Follows no redirect.
    private final Map<String, Answer> answers = new HashMap<>();
    private final Map<String, String> env;

    TokenBroker(Map<String, String> env) throws Failure {
        for (var name : List.of("TOKEN_BROKER_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
            if (!env.containsKey(name)) throw new Failure("settings", name + " is not set", "");
        this.env = env;
    }

    String token(String client, String service) throws Failure, InterruptedException {
        var answer = answer("{\"client\":\"" + client + "\",\"service\":\"" + service + "\"}", Instant.now());
        var json = answer.json;
        if (json.contains("\"access_token\"")) return member(json, "access_token");
        if (answer.status == 0) throw new Failure("network-error", "there was no answer", "");
        if (!json.contains("\"request_id\"")) throw new Failure("http-" + answer.status, "AWS or a proxy answered", "");
        throw new Failure(member(json, "type"), member(json, "detail"), member(json, "request_id"));
    }

    /** All threads that wait share an answer, also when it is a failure. */
    private synchronized Answer answer(String body, Instant calledAt) throws InterruptedException {
        var last = answers.get(body);
        var isKept = last != null && (Instant.now().isBefore(last.end) || last.at.isAfter(calledAt));
        if (!isKept) answers.put(body, ask(body, Instant.now()));
        return answers.get(body);
    }

    private Answer ask(String body, Instant startedAt) throws InterruptedException {
        try {
            var url = URI.create(env.get("TOKEN_BROKER_URL")).resolve("/token");
            var headers = new TreeMap<>(Map.of("content-type", "application/json", "host", url.getAuthority()));
            headers.put("x-amz-date", startedAt.toString().replaceAll("[-:]|\\.\\d+", ""));
            if (env.containsKey("AWS_SESSION_TOKEN")) headers.put("x-amz-security-token", env.get("AWS_SESSION_TOKEN"));
            headers.put("authorization", sign(url.getPath(), headers, body, "lambda"));
            headers.remove("host"); // HttpClient adds it.
            var request = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(20));
            headers.forEach(request::header);
            request.POST(HttpRequest.BodyPublishers.ofString(body));
            var answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
            var end = startedAt.plusSeconds(Long.parseLong("0" + member(answer.body(), "expires_in")) - 30);
            return new Answer(answer.statusCode(), answer.body(), end, Instant.now());
        } catch (IOException | GeneralSecurityException | IllegalArgumentException error) { // It may quote a header.
            return new Answer(0, "", Instant.MIN, Instant.now());
        }
    }

    /** Signature Version 4 of a POST without a query; the fields are in order, with names in lower case. */
    String sign(String path, Map<String, String> fields, String body, String service) throws GeneralSecurityException {
        var names = String.join(";", fields.keySet());
        var canonical = new StringBuilder("POST\n" + path + "\n\n");
        fields.forEach((name, value) -> canonical.append(name + ":" + value.strip().replaceAll(" +", " ") + "\n"));
        canonical.append("\n" + names + "\n" + sha256(body));
        var date = fields.get("x-amz-date");
        var scope = date.substring(0, 8) + "/" + env.get("AWS_REGION") + "/" + service + "/aws4_request";
        var key = ("AWS4" + env.get("AWS_SECRET_ACCESS_KEY")).getBytes(UTF_8);
        for (var part : scope.split("/")) key = hmac(key, part);
        key = hmac(key, "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + sha256(canonical.toString()));
        return String.format("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
            env.get("AWS_ACCESS_KEY_ID"), scope, names, HexFormat.of().formatHex(key));
    }

    private static byte[] hmac(byte[] key, String text) throws GeneralSecurityException {
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(UTF_8));
    }

    private static String sha256(String text) throws GeneralSecurityException {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)));
    }

    private static String member(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":\"?((?<=\")[^\"]*|\\d+)").matcher(json);
        return found.find() ? found.group(1) : "";
    }
}
