import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.monitoring.Telemetry;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/**
 * DynamoDB Local, whose options name no address and no free port: it listens on all addresses. Here it does on
 * 127.0.0.1 alone, on a port that the kernel gives it. So no other process can take the port before it listens.
 */
public class LoopbackServer {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(args);
    var server = DynamoDBProxyServer.class.getDeclaredField("server");
    server.setAccessible(true);
    var connector = (ServerConnector) ((Server) server.get(local)).getConnectors()[0];
    connector.setHost("127.0.0.1");
    connector.setPort(0);
    // What its own beginning reads from DDB_LOCAL_TELEMETRY: nothing is reported to Amazon.
    Telemetry.configureTelemetry("local", "local", false);
    local.start();
    System.out.println("listening on " + connector.getLocalPort());
  }
}
