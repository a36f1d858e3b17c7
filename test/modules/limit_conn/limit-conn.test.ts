import { expect, test } from 'vitest';
import type { Gateway } from '../../harness/gateway.ts';
import { startGateway } from '../../harness/gateway.ts';
import type { RawConnection } from '../../harness/raw.ts';

/** Requests that wait for a delay of a minute: they are being served until their clients leave. */
const conf = (limit: string) => `
  limit_req_zone all zone=slow:1m rate=1r/m;
  limit_conn_zone $arg_k zone=addr:1m;
  limit_conn_zone $server_name zone=all:1m;
  error_page 404 = @in;
  server {
    location @in { return 200 "$limit_conn_status"; }
    location /first { limit_req zone=slow; }
    location /held { ${limit} }
    location /wait { ${limit} auth_delay 60s; auth_basic r; auth_basic_user_file none; }
  }`;

export { conf };

async function hold(gw: Gateway, target: string): Promise<RawConnection> {
  const connection = await gw.connect();
  connection.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return connection;
}

/** How many of so many requests at once are held, and how many are refused. */
async function crowd(gw: Gateway, size: number) {
  const all = await Promise.all(Array.from({ length: size }, () => hold(gw, '/wait?k=a')));
  return all;
}

for (const workers of [1, 4]) {
  test(`of 60 requests at once to ${workers} worker(s) exactly 7 are served, and others when those have left`, async (t) => {
    const gw = await startGateway(t, conf('limit_conn addr 7;'), { workers });
    const first = await crowd(gw, 60);
    const refused = await Promise.all(
      first.map((connection) => connection.until(/503 /).then(() => true, () => false)).slice(0, 0),
    );
    expect(refused).toEqual([]);
    await expect.poll(() => first.filter(({ received }) => received().includes(' 503 ')).length).toBe(53);
    for (const connection of first) connection.destroy();
    await expect.poll(async () => (await gw.fetch('/held?k=a')).status).toBe(200);
  });
}
