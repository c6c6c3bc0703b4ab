import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.monitoring.Telemetry;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/** DynamoDB Local, whose options name no address: it listens on all of them. Here it does on 127.0.0.1 alone. */
public class LoopbackServer {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(args);
    var server = DynamoDBProxyServer.class.getDeclaredField("server");
    server.setAccessible(true);
    for (var connector : ((Server) server.get(local)).getConnectors()) {
      ((ServerConnector) connector).setHost("127.0.0.1");
    }
    // What its own beginning reads from DDB_LOCAL_TELEMETRY: nothing is reported to Amazon.
    Telemetry.configureTelemetry("local", "local", false);
    local.start();
  }
}
