import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { clockOfFile } from '../proxy/cache/origin.ts';

const load = oneGateway();
const { options, passed } = clockOfFile();

const CLOSING = 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n';

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  for (const name of ['main', 'other']) certificates.signed(name, 'ca');
  certificates.lock('main', 'secret');
  certificates.write('passwords', 'wrong\nsecret\n');
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const filesOf = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, certificates.read(name)]));

const allFiles = () => ({
  ...filesOf('main.crt', 'main.key', 'other.crt', 'other.key', 'passwords'),
  'locked-main.key': certificates.read('main.locked'),
});

/** Returns the name in the certificate that a client gets, the body of the response, and the session. */
async function visit(
  port: number,
  tls: ConnectionOptions = {},
): Promise<{ said: string; session: Buffer | undefined }> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...tls });
  let session = await new Promise<Buffer | undefined>((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket.getSession())).once('error', reject);
  });
  const name = String(socket.getPeerCertificate().subject?.CN);
  socket.on('session', (given: Buffer) => (session = given));
  socket.write(CLOSING);
  let received = '';
  for await (const text of socket.setEncoding('utf8')) received += String(text);
  return { said: `${name} ${received.split('\r\n\r\n')[1]}`, session };
}

const saidTo = async (port: number, servername: string): Promise<string> =>
  (await visit(port, { servername })).said;

const BY_ADDRESS = 'map $remote_addr $pair { 127.0.0.1 main; default none; }';

/** `pair`: the directives about certificates; `shown`: the name in the certificate that clients get. */
const CASES = [
  { it: 'of geo', http: 'geo $pair { default main; }', pair: ['$pair.crt', '$pair.key'] },
  { it: 'of a map over the address', http: BY_ADDRESS, pair: ['$pair.crt', '${pair}.key'] },
  {
    it: 'of a map over the port',
    http: 'map $server_port $pair { PORT main; default none; }',
    pair: ['DIR/$pair.crt', 'DIR/$pair.key'],
  },
  {
    it: 'of a map over the name that is asked for',
    http: 'map $ssl_server_name $pair { a.example main; default none; }',
    pair: ['$pair.crt', '$pair.key'],
  },
  { it: 'in the key alone', http: 'geo $pair { default main; }', pair: ['main.crt', '$pair.key'] },
  {
    it: 'behind a directory above',
    http: 'geo $pair { default main; }',
    pair: ['../UP/$pair.crt', 'main.key'],
  },
  { it: 'in a store', http: 'geo $pair { default main; }', pair: ['main.crt', 'store:file:DIR/$pair.key'] },
  {
    it: 'for a key with a password',
    http: 'geo $pair { default main; }',
    pair: ['main.crt', 'locked-$pair.key'],
    more: 'ssl_password_file passwords;',
  },
  {
    it: 'at the default server, which a server without any shows as well',
    http: 'geo $pair { default main; }',
    pair: ['$pair.crt', '$pair.key'],
    after: 'server { listen 127.0.0.1:PORT ssl; server_name c.example; return 200 c; }',
    name: 'c.example',
  },
] as const;

for (const { it, http, pair, ...rest } of CASES) {
  const {
    more = '',
    after = '',
    name = 'a.example',
  }: { more?: string; after?: string; name?: string } = rest;
  test.runIf(HAS_OPENSSL)(`certificates may be named by variables: ${it}`, async (t) => {
    const gw = await load(
      t,
      (dir, port) =>
        `${http} server { listen 127.0.0.1:${port} ssl; ssl_certificate ${pair[0]}; ssl_certificate_key ${pair[1]};
          ${more} return 200 ok; } ${after}`
          .replaceAll('PORT', String(port))
          .replaceAll('DIR', dir)
          .replaceAll('UP', dir.split('/').at(-1) ?? ''),
      allFiles(),
    );
    expect(await saidTo(gw.port, name)).toBe('main ok');
  });
}

test.runIf(HAS_OPENSSL)('a file that is not there ends the handshake', async (t) => {
  const gw = await load(
    t,
    (_, port) => `geo $pair { default none; }
      server { listen 127.0.0.1:${port} ssl; ssl_certificate main.crt; ssl_certificate_key $pair.key; return 200 ok; }`,
    allFiles(),
  );
  await expect(saidTo(gw.port, 'a.example')).rejects.toThrow(/alert internal error/);
  await gw.waitForLog(
    /\[error\] .*cannot load certificate key ".*\/none\.key": BIO_new_file\(\) failed .*while SSL handshaking/,
  );
});

for (const [way, directives, versions] of [
  ['by ticket', '', ['TLSv1.2', 'TLSv1.3']],
  ['by id', 'ssl_session_tickets off;', ['TLSv1.2']],
] as const)
  test.runIf(HAS_OPENSSL)(
    `a session is resumed ${way} on another port with the same pair of texts only`,
    async (t) => {
      const [same, other] = [await freePort(), await freePort()];
      const server = (port: number, pair: string): string => `server { listen 127.0.0.1:${port} ssl;
        ssl_certificate ${pair}.crt; ssl_certificate_key ${pair}.key; return 200 $ssl_session_reused; }`;
      const gw = await load(
        t,
        (_, port) => `geo $pair { default main; } geo $also { default main; }
          ssl_session_cache shared:s:1m; ${directives}
          ${server(port, '$pair')} ${server(same, '$pair')} ${server(other, '$also')}`,
        allFiles(),
      );
      for (const maxVersion of versions) {
        const { said, session } = await visit(gw.port, { maxVersion });
        expect(said).toBe('main .');
        const resuming = { maxVersion, ...(session && { session }) };
        expect((await visit(same, resuming)).said).toMatch(/ r$/);
        expect((await visit(other, resuming)).said).toMatch(/ \.$/);
      }
    },
  );

/** A change of the files of the pair `turn`, or the seconds that pass; then the certificate that a client gets. */
type Step = readonly [does: 'begin' | 'replace' | 'remove' | 'visit others' | number, shown: string];

const GONE = 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR';

const CACHES: readonly { it: string; cache: string; locked?: true; steps: readonly Step[] }[] = [
  {
    it: 'serves a pair until it has to be looked at again',
    cache: 'max=4 valid=1s',
    steps: [
      ['begin', 'main'],
      ['replace', 'main'],
      ['remove', 'main'],
      [2, GONE],
    ],
  },
  {
    it: 'shows a changed pair then',
    cache: 'max=4 valid=1s inactive=1m',
    steps: [
      ['begin', 'main'],
      ['replace', 'main'],
      [2, 'other'],
    ],
  },
  {
    it: 'drops unused files',
    cache: 'max=4 inactive=1s',
    steps: [
      ['begin', 'main'],
      ['replace', 'main'],
      [2, 'other'],
    ],
  },
  {
    it: 'keeps a limited number of files',
    cache: 'max=4',
    steps: [
      ['begin', 'main'],
      ['remove', 'main'],
      ['visit others', GONE],
    ],
  },
  {
    it: 'keeps nothing when it is off',
    cache: 'off',
    steps: [
      ['begin', 'main'],
      ['replace', 'other'],
      ['remove', GONE],
    ],
  },
  {
    it: 'never keeps encrypted keys',
    cache: 'max=4',
    locked: true,
    steps: [
      ['begin', 'main'],
      ['remove', GONE],
    ],
  },
];

for (const { it, cache, locked, steps } of CACHES) {
  test.runIf(HAS_OPENSSL)(`ssl_certificate_cache ${it}`, async (t) => {
    const files = {
      ...allFiles(),
      'extra.crt': certificates.read('other.crt'),
      'extra.key': certificates.read('other.key'),
    };
    const gw = await startGateway(
      t,
      (_, port) => `ssl_certificate_cache ${cache}; ssl_password_file passwords;
        server { listen 127.0.0.1:${port} ssl; return 200 "";
          ssl_certificate $ssl_server_name.crt; ssl_certificate_key $ssl_server_name.key; }`,
      { files, ...options },
    );
    const write = (name: string, key = `${name}.key`): void => {
      writeFileSync(join(gw.dir, 'turn.crt'), certificates.read(`${name}.crt`));
      writeFileSync(join(gw.dir, 'turn.key'), certificates.read(key));
    };
    for (const [does, shown] of steps) {
      if (does === 'begin') write('main', locked && 'main.locked');
      else if (does === 'replace') write('other');
      else if (does === 'remove') for (const end of ['crt', 'key']) rmSync(join(gw.dir, `turn.${end}`));
      else if (does === 'visit others') for (const name of ['other', 'extra']) await saidTo(gw.port, name);
      else passed(does);
      const said = await saidTo(gw.port, 'turn').catch(({ code }: NodeJS.ErrnoException) => `${code}`);
      expect(said.trim(), String(does)).toBe(shown);
    }
  });
}
