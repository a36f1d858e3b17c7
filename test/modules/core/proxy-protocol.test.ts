import { expect, test } from 'vitest';
import { oneGateway, type Gateway, type Owner } from '../../harness/gateway.ts';

const load = oneGateway();

const SHOWN =
  '$remote_addr|$remote_port|$proxy_protocol_addr|$proxy_protocol_port|$proxy_protocol_server_addr|$proxy_protocol_server_port';
const TLVS =
  '$proxy_protocol_tlv_alpn|$proxy_protocol_tlv_0x01|$proxy_protocol_tlv_ssl_version|$proxy_protocol_tlv_ssl_0x22|$proxy_protocol_tlv_ssl_verify|$proxy_protocol_tlv_authority';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const field = (type: number, value: Buffer) =>
  Buffer.concat([Buffer.from([type, value.length >> 8, value.length & 255]), value]);

/** A header of version 2 for a TCP connection from 192.0.2.7:4000 to 192.0.2.8:443. */
function versionTwo(...fields: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from([192, 0, 2, 7, 192, 0, 2, 8, 0x0f, 0xa0, 0x01, 0xbb]), ...fields]);
  return Buffer.concat([SIGNATURE, Buffer.from([0x21, 0x11, body.length >> 8, body.length & 255]), body]);
}

async function bodyOf(gw: Gateway, prefix: Buffer | string): Promise<string> {
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  const response = await gw.raw(Buffer.concat([Buffer.from(prefix as string), Buffer.from(request)]));
  return response.slice(response.indexOf('\r\n\r\n') + 4);
}

const start = (t: Owner, directives: string): Promise<Gateway> =>
  load(t, (_, port) => `server { listen 127.0.0.1:${port} proxy_protocol; ${directives} }`);

const cases = [
  {
    it: 'version 1',
    prefix: 'PROXY TCP4 192.0.2.7 192.0.2.8 4000 443\r\n',
    says: '192.0.2.7|4000|192.0.2.8|443',
  },
  {
    it: 'version 1 over IPv6',
    prefix: 'PROXY TCP6 2001:db8::7 2001:db8::8 4000 443\r\n',
    says: '2001:db8::7|4000|2001:db8::8|443',
  },
  { it: 'version 1 of an unknown connection', prefix: 'PROXY UNKNOWN\r\n', says: '|||' },
  { it: 'version 2', prefix: versionTwo(), says: '192.0.2.7|4000|192.0.2.8|443' },
];
for (const { it, prefix, says } of cases) {
  test(`variables show the addresses of the PROXY protocol: ${it}`, async (t) => {
    const gw = await start(t, `return 200 "${SHOWN}";`);
    expect(await bodyOf(gw, prefix)).toMatch(
      new RegExp(`^127\\.0\\.0\\.1\\|\\d+\\|${says.replaceAll('|', '\\|')}$`),
    );
  });
}

test('a trusted proxy sends the address of the client before the request', async (t) => {
  const gw = await start(
    t,
    `set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol; return 200 "$remote_addr|$remote_port|$realip_remote_addr";`,
  );
  expect(await bodyOf(gw, 'PROXY TCP4 192.0.2.7 192.0.2.8 4000 443\r\n')).toBe('192.0.2.7|4000|127.0.0.1');
});

test('variables show fields of version 2, by name and by type', async (t) => {
  const gw = await start(t, `return 200 "${TLVS}";`);
  const ssl = Buffer.concat([
    Buffer.from([1, 0, 0, 0, 18]),
    field(0x21, Buffer.from('TLSv1.3')),
    field(0x22, Buffer.from('cn')),
  ]);
  expect(await bodyOf(gw, versionTwo(field(0x01, Buffer.from('h2')), field(0x20, ssl)))).toBe(
    'h2|h2|TLSv1.3|cn|18|',
  );
});

test('without the PROXY protocol its variables are empty', async (t) => {
  const gw = await load(
    t,
    `server { return 200 "[$proxy_protocol_addr$proxy_protocol_port$proxy_protocol_tlv_alpn]"; }`,
  );
  await gw.expect('GET /', { body: '[]' });
});
