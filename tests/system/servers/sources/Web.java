// SPDX-License-Identifier: Apache-2.0
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ContextHandler;
import org.eclipse.jetty.server.handler.gzip.GzipHandler;
import org.eclipse.jetty.util.Callback;

/** A small shop on Jetty: regular expressions, streams, text, gzip. */
public class Web {
    record Item(int id, String name, double price, List<String> tags) { }

    static final Pattern WORDS = Pattern.compile("(\\w+) (\\d+) of (\\d+)");
    static final List<Item> ITEMS = new ArrayList<>();

    static int score(Item item) {
        Matcher found = WORDS.matcher(item.name());
        found.matches();
        return (Integer.parseInt(found.group(2)) + Integer.parseInt(found.group(3))) % 97;
    }

    static List<Item> search(int limit) {
        return ITEMS.stream().sorted(Comparator.comparingInt(Web::score).thenComparing(Item::name))
            .limit(limit).collect(Collectors.toList());
    }

    static void escape(StringBuilder out, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\' || c == '<')
                out.append(String.format("\\u%04x", (int) c));
            else
                out.append(c);
        }
    }

    static String json(List<Item> items) {
        StringBuilder out = new StringBuilder("[");
        Map<String, Integer> seen = new TreeMap<>();
        for (Item item : items) {
            out.append("{\"id\":").append(item.id()).append(",\"name\":\"");
            escape(out, item.name());
            out.append("\",\"price\":").append(item.price()).append("},");
            for (String tag : item.tags())
                seen.merge(tag, 1, Integer::sum);
        }
        return out.append(seen).append(']').toString();
    }

    static class Api extends Handler.Abstract {
        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json");
            Content.Sink.write(response, true, json(search(80)), callback);
            return true;
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int n = 0; n < 300; n++)
            ITEMS.add(new Item(n, "item " + n + " of " + n * 7919 % 1000, n * 3.25, List.of("a" + n % 7, "<b>")));
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server, 1, 1);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(System.getenv("PORT")));
        server.addConnector(connector);
        server.setHandler(new GzipHandler(new ContextHandler(new Api(), "/")));
        server.start();
        System.out.println("ready");
        server.join();
    }
}
