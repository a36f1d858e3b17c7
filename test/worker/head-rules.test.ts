import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rmSync } from 'node:fs';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { oneGateway } from '../harness/gateway.ts';
import { openHttp2 } from '../harness/http2-client.ts';

/*
 * Rules for heads belong to a server, which is known only when the handshake, `:authority` or `Host` has named it. The responses are
 * those of nginx 1.22; HTTP/1 without TLS is compared in test/conformance/raw.
 */
const load = oneGateway();

const servers = (listen: string): string => `
  server { listen ${listen}; server_name first; return 200 "first $uri|$http_x_a|$http_x_b"; }
  server {
    listen ${listen}; server_name named; underscores_in_headers on; merge_slashes off;
    return 200 "named $uri|$http_x_a|$http_x_b";
  }`;

async function ask(session: ClientHttp2Session, fields: Record<string, string>): Promise<string> {
  const stream = session.request({ ':method': 'GET', ':scheme': 'http', ...fields });
  let body = '';
  for await (const text of stream.setEncoding('utf8')) body += String(text);
  return body;
}

for (const [it, fields, body] of [
  ['authority', { ':authority': 'named', ':path': '//a//b', x_a: 'a' }, 'named //a//b|a|'],
  ['path before the authority', { ':path': '//a//b', ':authority': 'named', x_a: 'a' }, 'named /a/b|a|'],
  ['host field', { ':path': '//a//b', x_a: 'a', host: 'named', x_b: 'b' }, 'named /a/b||b'],
  ['other authority', { ':authority': 'first', ':path': '//a//b', x_a: 'a' }, 'first /a/b||'],
] as const) {
  test(`over HTTP/2 the rules follow the ${it}`, async (t) => {
    const gw = await load(t, (_, port) => `http2 on; ${servers(`127.0.0.1:${port}`)}`);
    const session = openHttp2(gw.port);
    t.onTestFinished(() => session.destroy());
    await once(session, 'remoteSettings');
    expect(await ask(session, fields)).toBe(body);
  });
}

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

for (const [servername, host, body] of [
  ['named', 'named', 'named //a//b|a|b'],
  ['first', 'named', 'named /a/b||b'],
  ['named', 'first', 'first //a//b|a|'],
  ['nobody', 'named', 'named /a/b||b'],
] as const) {
  test.runIf(HAS_OPENSSL)(
    `a handshake that names "${servername}" gives the rules until "Host: ${host}" does`,
    async (t) => {
      const [certificate, key] = ['ca.crt', 'ca.key'].map((name) => certificates.path(name));
      const gw = await load(
        t,
        (_, port) =>
          `ssl_certificate ${certificate}; ssl_certificate_key ${key}; ${servers(`127.0.0.1:${port} ssl`)}`,
      );
      const socket = connect({ host: '127.0.0.1', port: gw.port, servername, rejectUnauthorized: false });
      socket.write(`GET //a//b HTTP/1.1\r\nX_A: a\r\nHost: ${host}\r\nX_B: b\r\nConnection: close\r\n\r\n`);
      let received = '';
      for await (const text of socket.setEncoding('utf8')) received += String(text);
      expect(received.split('\r\n\r\n')[1]).toBe(body);
    },
  );
}
