import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;

/** Carries out the orders on its standard input with the example for Java: a line with tabs in, a list in JSON out. */
class Main {
    public static void main(String[] args) throws Exception {
        var brokers = new HashMap<String, TokenBroker>();
        var pool = Executors.newCachedThreadPool();
        for (var lines = new Scanner(System.in); lines.hasNextLine(); ) {
            var order = lines.nextLine().split("\t", -1);
            var env = new HashMap<>(System.getenv());
            env.put("TOKEN_BROKER_URL", order[2]);
            brokers.putIfAbsent(order[2], new TokenBroker(env));
            var broker = brokers.get(order[2]);
            broker.limit = Duration.ofSeconds(order[0].equals("brief") ? 1 : 20);
            var refused = order.length > 5 ? order[5] : "";
            var running = new ArrayList<Future<String>>();
            var last = new AtomicReference<Thread>();
            for (int i = 0; i < Integer.parseInt(order[1]); i++)
                running.add(pool.submit(() -> {
                    last.set(Thread.currentThread());
                    return broker.token(order[3], order[4], refused);
                }));
            if (order[0].equals("impatient")) {
                Thread.sleep(300);
                last.get().interrupt();
            }
            var told = new ArrayList<String>();
            for (var one : running)
                if (!order[0].equals("begin"))
                    told.add('"' + outcome(one).replace("\\", "\\\\").replace("\"", "\\\"") + '"');
            System.out.println(told);
        }
        pool.shutdownNow();
    }

    static String outcome(Future<String> running) throws InterruptedException {
        try {
            return running.get();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof InterruptedException) return "interrupted";
            var isRetryable = error.getCause() instanceof TokenBroker.Failure failure && failure.retryable;
            return (isRetryable ? "retryable " : "") + error.getCause().getMessage();
        }
    }
}
