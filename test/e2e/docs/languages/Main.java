import java.time.Duration;
import java.util.*;

/** Carries out each order on its standard input in a thread with the example for Java, and prints its outcome. */
class Main {
    public static void main(String[] args) throws Exception {
        var brokers = new HashMap<String, TokenBroker>();
        for (var lines = new Scanner(System.in); lines.hasNextLine(); ) {
            var order = lines.nextLine().split("\t");
            var env = new HashMap<>(System.getenv());
            env.put("TOKEN_BROKER_URL", order[2]);
            brokers.putIfAbsent(order[2], new TokenBroker(env));
            var broker = brokers.get(order[2]);
            broker.limit = Duration.ofSeconds(order[1].equals("brief") ? 1 : 20);
            var caller = new Thread(() -> System.out.println(order[0] + "\t" + outcome(broker, order)));
            caller.start();
            if (order[1].equals("impatient")) {
                Thread.sleep(300);
                caller.interrupt();
            }
        }
        System.exit(0);
    }

    static String outcome(TokenBroker broker, String[] order) {
        try {
            return broker.token(order[3], order[4], order.length > 5 ? order[5] : "");
        } catch (InterruptedException error) {
            return "interrupted";
        } catch (Exception error) {
            var isRetryable = error instanceof TokenBroker.Failure failure && failure.retryable;
            return (isRetryable ? "retryable " : "") + ("" + error.getMessage()).replace("\n", "\\n");
        }
    }
}
