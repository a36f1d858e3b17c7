import type { Attempt } from './attempts.ts';
import type { Pg, WireClient, WireConnection } from './wire.ts';

const TIMEOUT_MS = 2_000;

/**
 * Asks the server, on a connection of its own, to cancel what a client's session runs. Resolves when that connection
 * is closed, which the server does once the signal is sent: only then can a late cancel no longer hit the next query.
 * Rejects when it could not be delivered.
 */
export function sendCancel(pg: Pg, { host, port, ssl }: Attempt, client: WireClient): Promise<void> {
  return new Promise((resolve, reject) => {
    const connection = new pg.Connection({ ssl }) as WireConnection;
    const timer = setTimeout(() => connection.stream.destroy(new Error('cancel timed out')), TIMEOUT_MS);
    let sent = false;
    const send = (): void => {
      sent = true;
      connection.cancel(client.processID, client.secretKey);
    };
    connection.on('connect', () => (ssl ? connection.requestSsl() : send()));
    connection.on('sslconnect', send);
    connection.on('error', reject);
    connection.on('end', () => {
      clearTimeout(timer);
      if (sent) resolve();
      else reject(new Error('cancel connection closed'));
    });
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
