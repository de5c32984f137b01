import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.security.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.UTF_8;

/** Asks a token broker for tokens: copy this file. `env` is System.getenv(): TOKEN_BROKER_URL, the AWS keys of a Lambda
 * function (not with SnapStart), and AWS_REGION where the URL names no region. Call the service with
 * token("acme", "customer-insights", ""), and after a 401 once more with that token in place of "". */
class TokenBroker {
    /** A problem of the broker (RFC 9457), a refusal by AWS (aws-forbidden), another answer (http-502), or none. */
    static class Failure extends IOException {
        final String type, detail, requestId;
        final boolean retryable;
        Failure(String type, String detail, boolean retryable, String requestId) {
            super(type + ": " + detail + (requestId.isEmpty() ? "" : " (request " + requestId + ")"));
            this.type = type; this.detail = detail; this.retryable = retryable; this.requestId = requestId;
        }
    }

    /** A token, or the failure that came in its place. */
    private record Answer(String refused, String token, Failure failure, Instant began, Instant end) {
        boolean isKept(String refused) {
            return !token.equals(refused) && !Instant.now().isBefore(began) && Instant.now().isBefore(end);
        }
    }

    private static class Pair {
        final ReentrantLock lock = new ReentrantLock();
        volatile Answer last = new Answer("", "", null, Instant.MAX, Instant.MIN), kept = last;
    }

    private final Map<List<String>, Pair> pairs = new ConcurrentHashMap<>();
    private final Map<String, String> env;
    Duration limit = Duration.ofSeconds(20); // For a request and its whole answer.

    TokenBroker(Map<String, String> variables) throws Failure {
        env = new HashMap<>(variables);
        var url = Pattern.compile("\\.lambda-url\\.([^.]+)\\.on\\.").matcher(env.getOrDefault("TOKEN_BROKER_URL", ""));
        if (url.find()) env.put("AWS_REGION", url.group(1));
        for (var name : List.of("TOKEN_BROKER_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
            if (!env.containsKey(name)) throw new Failure("settings", name + " is not set", false, "");
    }

    /** Returns the token, or the successor of a token that the service refused. Threads that wait share an answer. */
    String token(String client, String service, String refused) throws Failure, InterruptedException {
        var pair = pairs.computeIfAbsent(List.of(client, service), key -> new Pair());
        Answer last = pair.last, kept = pair.kept;
        if (kept.isKept(refused)) return kept.token;
        pair.lock.lockInterruptibly();
        try {
            if (pair.kept.isKept(refused)) return pair.kept.token;
            if (pair.last == last || !pair.last.refused.equals(refused)) pair.last = ask(client, service, refused);
            if (pair.last.end.isAfter(pair.last.began)) pair.kept = pair.last;
            if (pair.last.failure != null) throw pair.last.failure;
            return pair.last.token;
        } finally {
            pair.lock.unlock();
        }
    }

    private Answer ask(String client, String service, String refused) throws InterruptedException {
        var began = Instant.now();
        var token = "";
        long life = 0;
        Failure failure = null;
        try {
            var answer = send(client, service, refused, began);
            var json = answer.body();
            var wait = answer.headers().firstValue("retry-after").orElse("");
            if (json.contains("\"access_token\"")) {
                token = member(json, "access_token");
                life = Long.parseLong("0" + member(json, "expires_in"));
            } else if (member(json, "type").equals("refused-again") && wait.matches("[1-9]")) {
                Thread.sleep(1_000 * Long.parseLong(wait)); // The service did not know its new token yet.
                token = refused;
            } else failure = failureOf(answer);
        } catch (InterruptedException error) {
            throw error;
        } catch (Exception error) {
            var names = new ArrayList<String>(); // A message may quote a header.
            for (Throwable cause = error; cause != null; cause = cause.getCause())
                names.add(cause.getClass().getSimpleName());
            failure = new Failure("network-error", "there was no answer: " + String.join(", ", names), true, "");
        }
        return new Answer(refused, token, failure, began, began.plusSeconds(life - Math.min(30, life / 5)));
    }

    private HttpResponse<String> send(String client, String service, String refused, Instant at) throws Exception {
        var members = "\"client\":\"" + client + "\",\"service\":\"" + service + "\"";
        if (!refused.isEmpty()) members += ",\"refused\":\"" + sha256(refused).substring(0, 16) + "\"";
        var body = "{" + members + "}";
        var url = URI.create(env.get("TOKEN_BROKER_URL")).resolve("/token");
        var headers = new TreeMap<>(Map.of("content-type", "application/json", "host", url.getAuthority()));
        headers.put("x-amz-date", at.toString().replaceAll("[-:]|\\.\\d+", ""));
        if (env.containsKey("AWS_SESSION_TOKEN")) headers.put("x-amz-security-token", env.get("AWS_SESSION_TOKEN"));
        headers.put("authorization", sign(url.getPath(), headers, body, "lambda"));
        headers.remove("host"); // HttpClient adds it.
        var request = HttpRequest.newBuilder(url);
        headers.forEach(request::header);
        request.POST(HttpRequest.BodyPublishers.ofString(body));
        var http = HttpClient.newHttpClient(); // Follows no redirect. A kept connection is dead after a freeze.
        var answer = http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS); // The body may stall after a freeze.
        } finally {
            answer.cancel(true);
        }
    }

    private static Failure failureOf(HttpResponse<String> answer) {
        var json = answer.body();
        var status = answer.statusCode();
        if (json.contains("\"request_id\"")) {
            var isRetryable = json.contains("\"retryable\":true");
            return new Failure(member(json, "type"), member(json, "detail"), isRetryable, member(json, "request_id"));
        }
        // The text of AWS may repeat the signed request.
        var name = answer.headers().firstValue("x-amzn-errortype").orElse("").replaceAll("\\W.*", "");
        var told = REFUSALS.getOrDefault(name, List.of("http-" + status, "AWS or a proxy answered: " + name));
        return new Failure(told.get(0), told.get(1), status == 429 || status >= 500, "");
    }

    private static final Map<String, List<String>> REFUSALS = Map.of(
        "AccessDeniedException", List.of("aws-forbidden", "attach the policy that the command `policy` prints"),
        "ExpiredTokenException", List.of("aws-security-token-expired", "renew the AWS keys, which have expired"),
        "IncompleteSignatureException", List.of("aws-refused", "check that no proxy changes the request"),
        "InvalidSignatureException", List.of("aws-signature-mismatch", "check the clock, region and secret key"),
        "UnrecognizedClientException", List.of("aws-security-token-invalid", "use AWS keys that belong together"));

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
        var found = Pattern.compile("\"" + name + "\":\"?((?<=\")(?:[^\"\\\\]|\\\\.)*|\\d+)").matcher(json);
        return found.find() ? found.group(1).replaceAll("\\\\(.)", "$1") : "";
    }
}
