// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;

/** A small service of the JDK alone: each answer sorts and counts words. */
public class Shop {
    static final String TEXT = "the quick brown fox jumps over the lazy dog and the cat ".repeat(40);

    static byte[] answer(String path) {
        Map<String, Integer> count = new TreeMap<>();

        for (String word : (TEXT + path).split(" ")) {
            count.merge(word, 1, Integer::sum);
        }
        return count.toString().getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);

        server.createContext("/", exchange -> {
            byte[] body = answer(exchange.getRequestURI().getPath());

            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        System.out.println("ready " + server.getAddress().getPort());
    }
}
