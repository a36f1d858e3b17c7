import { rmSync } from 'node:fs';
import { connect, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { gatewayPerOptions, type Gateway, startGateway } from '../../harness/gateway.ts';
import { movableClock } from '../proxy/cache/origin.ts';

const load = gatewayPerOptions();

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  for (const name of ['server', 'plain', 'revoked']) certificates.signed(name, 'ca');
  certificates.signed('sub', 'ca', { isAuthority: true });
  certificates.signed('subsub', 'sub', { isAuthority: true });
  certificates.signed('leaf', 'sub');
  certificates.signed('deep', 'subsub');
  certificates.revoke('ca', 'plain');
  certificates.write('none.crl', certificates.read('ca.crl'));
  certificates.revoke('ca', 'revoked');
  certificates.write('key', Buffer.alloc(80, 'k'));
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

/** Ways of resuming a session: the version of TLS, and the data that the server keeps. */
const WAYS = [
  {
    way: 'by id',
    maxVersion: 'TLSv1.2',
    directives: 'ssl_session_tickets off; ssl_session_cache shared:s:1m;',
  },
  { way: 'by ticket', maxVersion: 'TLSv1.2', directives: '' },
  { way: 'by a ticket of TLS 1.3', maxVersion: 'TLSv1.3', directives: '' },
  { way: 'by a ticket of a key file', maxVersion: 'TLSv1.3', directives: 'ssl_session_ticket_key DIR/key;' },
] as const;

type Way = (typeof WAYS)[number];

/** The certificate of a client with its chain. */
const CHAINS: Readonly<Record<string, readonly string[]>> = {
  plain: ['plain'],
  revoked: ['revoked'],
  leaf: ['leaf', 'sub'],
  deep: ['deep', 'subsub', 'sub'],
};

const file = (name: string): string => certificates.path(name);

const server = (
  way: Way,
  directives: string,
  { port, name }: { port: number; name: string },
): string => `server {
  listen 127.0.0.1:${port} ssl; server_name ${name}; ${way.directives.replace('DIR', certificates.dir)}
  ssl_certificate ${file('server.crt')}; ssl_certificate_key ${file('server.key')};
  ssl_client_certificate ${file('ca.crt')}; ${directives.replaceAll('DIR', certificates.dir)}
  return 200 "$ssl_client_verify $ssl_session_reused $ssl_client_s_dn";
}`;

interface Visited {
  /** The body of a 200, or the status. */
  readonly said: string;
  readonly session: Buffer | undefined;
}

/** Sends one request on a new connection to the server `a`. */
async function visit(gw: Gateway, way: Way, { as, name = 'a', session }: Client): Promise<Visited> {
  const options: ConnectionOptions = {
    host: '127.0.0.1',
    port: gw.port,
    servername: name,
    rejectUnauthorized: false,
    maxVersion: way.maxVersion,
    ...(as !== undefined && {
      cert: (CHAINS[as] ?? []).map((one) => certificates.read(`${one}.crt`)).join(''),
      key: certificates.read(`${as}.key`),
    }),
    ...(session && { session }),
  };
  const socket = connect(options);
  let begun = await new Promise<Buffer | undefined>((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket.getSession())).once('error', reject);
  });
  socket.on('session', (given: Buffer) => (begun = given));
  socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  let received = '';
  for await (const text of socket.setEncoding('utf8')) received += String(text);
  const [head = '', body = ''] = received.split('\r\n\r\n');
  const status = head.split(' ')[1] ?? '';
  return { said: status === '200' ? body : status, session: begun };
}

interface Client {
  readonly as?: keyof typeof CHAINS;
  readonly name?: string;
  readonly session?: Buffer | undefined;
}

const ON = 'ssl_verify_client on;';

/** `second`: the result with the session of the first handshake. */
const CASES = [
  {
    it: 'of a certificate is resumed',
    as: 'plain',
    first: 'SUCCESS . CN=plain',
    second: 'SUCCESS r CN=plain',
  },
  {
    it: 'of a certificate whose chain the client sends is resumed',
    as: 'leaf',
    first: 'SUCCESS . CN=leaf',
    second: 'SUCCESS r CN=leaf',
  },
  { it: 'does not pass a chain that was too long', as: 'deep', first: '400', second: '400' },
  {
    it: 'does not pass a revoked certificate',
    as: 'revoked',
    directives: 'ssl_crl DIR/ca.crl;',
    first: '400',
    second: '400',
  },
  {
    it: 'without a certificate is resumed',
    directives: 'ssl_verify_client optional;',
    first: 'NONE . ',
    second: 'NONE r ',
  },
  {
    it: 'of a certificate that nobody has to trust keeps its fault',
    as: 'leaf',
    directives: 'ssl_verify_client optional_no_ca; ssl_verify_depth 0;',
    first: 'FAILED:unable to get local issuer certificate . CN=leaf',
    second: 'FAILED:unable to get local issuer certificate . CN=leaf',
  },
] as const;

/** `second`: the result with that session at a server with other settings. */
const CHANGES = [
  { it: 'no other settings', as: 'leaf', after: '', second: 'SUCCESS r CN=leaf' },
  { it: 'a list that revokes it', as: 'revoked', after: 'ssl_crl DIR/ca.crl;', second: '400' },
  {
    it: 'another list',
    as: 'revoked',
    before: 'ssl_crl DIR/none.crl;',
    after: 'ssl_crl DIR/ca.crl;',
    second: '400',
  },
  { it: 'a smaller depth', as: 'leaf', after: 'ssl_verify_depth 0;', second: '400' },
  {
    it: 'other authorities',
    as: 'plain',
    after: 'ssl_trusted_certificate DIR/sub.crt;',
    second: 'SUCCESS . CN=plain',
  },
  {
    it: 'a status to ask for',
    as: 'plain',
    after: 'ssl_ocsp leaf; ssl_ocsp_responder http://127.0.0.1:1/;',
    second: '400',
  },
  { it: 'another mode', as: 'plain', after: 'ssl_verify_client optional;', second: 'SUCCESS . CN=plain' },
] as const;

const changed = (directives: string): string =>
  directives.includes('ssl_verify_client') ? directives : `${ON} ${directives}`;

for (const way of WAYS) {
  describe.runIf(HAS_OPENSSL)(way.way, () => {
    for (const { it, first, second, ...shown } of CASES) {
      test(`a session ${it}`, async (t) => {
        const { as, directives = ON }: { as?: string; directives?: string } = shown;
        const gw = await load(t, (_, port) => server(way, changed(directives), { port, name: 'a' }));
        const { said, session } = await visit(gw, way, { ...(as && { as }) });
        expect(said).toBe(first);
        const again = await visit(gw, way, { ...(as && { as }), session });
        expect(again.said).toBe(second);
      });
    }

    for (const { it, as, after, second, ...rest } of CHANGES) {
      const { before = '' }: { before?: string } = rest;
      test(`a session meets ${it} after a reload`, async (t) => {
        const gw = await load(t, (_, port) => server(way, changed(before), { port, name: 'a' }));
        const { said, session } = await visit(gw, way, { as });
        expect(said).toBe(`SUCCESS . CN=${as}`);
        expect(await gw.reload(server(way, changed(after), { port: gw.port, name: 'a' }))).toBe('done');
        expect((await visit(gw, way, { as, session })).said).toBe(second);
      });

      test(`a session meets ${it} at another server of the port`, async (t) => {
        const gw = await load(
          t,
          (_, port) =>
            server(way, changed(before), { port, name: 'a' }) +
            server(way, changed(after), { port, name: 'b' }),
        );
        const { said, session } = await visit(gw, way, { as });
        expect(said).toBe(`SUCCESS . CN=${as}`);
        expect((await visit(gw, way, { as, name: 'b', session })).said).toBe(second);
      });
    }
  });
}

const [, , ticketWay, keyFileWay] = WAYS;

for (const [as, first, second] of [
  ['plain', 'SUCCESS . CN=plain', 'SUCCESS r CN=plain'],
  ['leaf', 'SUCCESS . CN=leaf', 'SUCCESS . CN=leaf'],
  ['deep', '400', '400'],
] as const) {
  test.runIf(HAS_OPENSSL)(
    `a gateway that has not seen the chain of "${as}" asks for it before it resumes a session`,
    async (t) => {
      const start = (): Promise<Gateway> =>
        startGateway(t, (_, port) => server(keyFileWay, ON, { port, name: 'a' }));
      const [gw, other] = await Promise.all([start(), start()]);
      const { said, session } = await visit(gw, keyFileWay, { as });
      expect(said).toBe(first);
      expect((await visit(other, keyFileWay, { as, session })).said).toBe(second);
    },
  );
}

test.runIf(HAS_OPENSSL)('a session ends with the certificate of its client', async (t) => {
  const clock = movableClock(t);
  const directives = `${ON} ssl_session_timeout 60d;`;
  const gw = await startGateway(
    t,
    (_, port) => server(ticketWay, directives, { port, name: 'a' }),
    clock.options,
  );
  const { session } = await visit(gw, ticketWay, { as: 'leaf' });
  expect((await visit(gw, ticketWay, { as: 'leaf', session })).said).toBe('SUCCESS r CN=leaf');
  clock.move(31 * 86_400);
  // OpenSSL's clock was not moved.
  expect((await visit(gw, ticketWay, { as: 'leaf', session })).said).toBe('SUCCESS . CN=leaf');
});
