import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Carries out the orders on its standard input with the examples for Java: a line with tabs in, a list in JSON out. */
class Main {
    public static void main(String[] args) throws Exception {
        var env = System.getenv();
        var api = new RefusedToken(env.get("ORIGIN"), URI.create(env.get("TOKEN_URL")), env.get("KEY"), "acme", "customer-insights");
        var broker = new TokenBroker(env);
        var pool = Executors.newCachedThreadPool();
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (var line = lines.readLine(); line != null; line = lines.readLine()) {
            var order = line.split("\t", -1);
            Callable<String> carryOut = () -> switch (order[0]) {
                case "token" -> broker.token(order[2], order[3]);
                default -> "" + api.send(request(order), BodyHandlers.discarding()).statusCode();
            };
            var running = new ArrayList<Future<String>>();
            for (int i = 0; i < Integer.parseInt(order[1]); i++) running.add(pool.submit(carryOut));
            var told = new ArrayList<String>();
            for (var one : running) told.add('"' + outcome(one) + '"');
            System.out.println(told);
        }
        pool.shutdownNow();
    }

    static String outcome(Future<String> running) throws InterruptedException {
        try {
            return running.get();
        } catch (java.util.concurrent.ExecutionException error) {
            return error.getCause().getMessage().replace('"', '\'');
        }
    }

    static HttpRequest request(String[] order) {
        var request = HttpRequest.newBuilder(URI.create(order[2]));
        return switch (order[0]) {
            case "post" -> request.POST(BodyPublishers.ofString(order[3])).build();
            case "stream" -> request.POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(order[3].getBytes()))).build();
            default -> request.build();
        };
    }
}
