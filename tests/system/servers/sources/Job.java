// SPDX-License-Identifier: Apache-2.0
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** A job on an H2 database in memory: inserts, joins, groups, sorts, updates. */
public class Job {
    public static void main(String[] arguments) throws Exception {
        try (Connection c = DriverManager.getConnection("jdbc:h2:mem:job")) {
            Statement s = c.createStatement();
            s.execute("create table person(id int primary key, name varchar, town int, age int)");
            s.execute("create table town(id int primary key, name varchar)");
            s.execute("create index by_town on person(town)");
            System.out.println("ready");
            for (int round = 0; ; round++) {
                round(c, round);
                s.execute("delete from person");
                s.execute("delete from town");
            }
        }
    }

    static void round(Connection c, int round) throws Exception {
        try (PreparedStatement p = c.prepareStatement("insert into person values(?, ?, ?, ?)")) {
            for (int n = 0; n < 5000; n++) {
                p.setInt(1, n);
                p.setString(2, "person " + n * 31 % 997);
                p.setInt(3, n % 50);
                p.setInt(4, n * 7 % 90);
                p.execute();
            }
        }
        Statement s = c.createStatement();
        for (int n = 0; n < 50; n++)
            s.execute("insert into town values(" + n + ", 'town " + n + "')");
        for (int n = 0; n < 8; n++) {
            ResultSet r = s.executeQuery("select t.name, count(*), avg(p.age), max(upper(p.name)) from person p "
                + "join town t on t.id = p.town where p.age > " + (n * 5 + round % 3)
                + " and p.name like '%1%' group by t.name order by 3 desc");
            while (r.next())
                r.getString(1);
        }
        s.execute("update person set age = age + 1 where town in (select id from town where name like '%2')");
        s.close();
    }
}
