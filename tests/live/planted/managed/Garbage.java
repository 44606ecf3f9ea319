// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;

/** Prices are boxed in new lists for each quote, so that the collector runs all the time. */
public class Garbage {
    private static final List<List<Long>> history = new ArrayList<>();

    private static List<Long> prices(int product) {
        List<Long> prices = new ArrayList<>();
        for (int day = 0; day < 2000; day++) {
            prices.add(Long.valueOf(1_000_000L + product * 31L + day)); // GUILTY
        }
        return prices;
    }

    private static long quote(int product) {
        List<Long> prices = prices(product);
        history.set(product % history.size(), prices);
        return prices.get(product % prices.size());
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 1000; i++) {
            history.add(null);
        }
        for (int product = 0;; product++) {
            sum += quote(product & 0xffff);
            if (sum == 42) {
                System.out.println(sum);
            }
        }
    }
}
