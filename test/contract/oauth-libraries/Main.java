import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class Main {
    static final HttpClient HTTP = HttpClient.newHttpClient();

    static class Refused extends Exception {
        Refused(String error) {
            super(error);
        }
    }

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    static String ask(String client) throws Exception {
        var user = encoded(client) + ":" + encoded(System.getenv("KEY"));
        var request = HttpRequest.newBuilder(URI.create(System.getenv("TOKEN_URL")))
            .header("Authorization", "Basic " + Base64.getEncoder().encodeToString(user.getBytes()))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString("grant_type=client_credentials&scope=customer-insights"))
            .build();
        var answer = HTTP.send(request, BodyHandlers.ofString());
        if (answer.statusCode() != 200) throw new Refused(member(answer.body(), "error"));
        return answer.body();
    }

    /** Enough for this test; an application has a JSON library. */
    static String member(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        if (!found.find()) throw new IllegalStateException(name + " is missing");
        return found.group(1);
    }

    static void tell(String name, String value) {
        System.out.println("{\"" + name + "\":\"" + value + "\"}");
    }

    public static void main(String[] args) throws Exception {
        tell("token", member(ask("acme"), "access_token"));
        try {
            tell("token", ask("globex"));
        } catch (Refused refused) {
            tell("denied", refused.getMessage());
        }
        // It keeps no tokens: the application itself asks again.
        tell("again", member(ask("acme"), "access_token"));
    }
}
