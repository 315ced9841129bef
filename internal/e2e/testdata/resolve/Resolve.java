import java.net.*;

/** Looks the name up as Java's clients do. */
public class Resolve {
  public static void main(String[] args) throws Exception {
    for (InetAddress a : InetAddress.getAllByName(args[0])) {
      String family = a instanceof Inet4Address ? "4" : "6";
      System.out.println(family + " " + a.getHostAddress());
      System.out.println("ptr" + family + " " + InetAddress.getByAddress(a.getAddress()).getCanonicalHostName());
    }
    try {
      System.out.println("evil " + InetAddress.getByName("evil.test"));
    } catch (UnknownHostException e) {
      System.out.println("evil none");
    }
  }
}
