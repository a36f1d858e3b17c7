import { createHash, X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type RequestOptions, request } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { jwks } from './issuer.ts';

const load = oneGateway();

let certificates: Certificates;
beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  for (const name of ['server', 'ann', 'bob']) certificates.authority(name);
});
afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const thumbprint = (name: string): string =>
  createHash('sha256')
    .update(new X509Certificate(certificates.read(`${name}.crt`)).raw)
    .digest('base64url');
const boundTo = (name: string): object => ({ sub: 'ann', cnf: { 'x5t#S256': thumbprint(name) } });

async function statusOf(port: number, options: RequestOptions, claims: object): Promise<number | undefined> {
  const headers = bearer(sign(claims));
  return new Promise((resolve, reject) => {
    request(
      { host: '127.0.0.1', port, rejectUnauthorized: false, agent: false, headers, ...options },
      (response) => {
        text(response).then(() => resolve(response.statusCode), reject);
      },
    )
      .on('error', reject)
      .end();
  });
}

const cases: readonly {
  it: string;
  mode?: string;
  by?: string;
  claims: () => object;
  status: number;
  says?: string;
}[] = [
  { it: 'with its certificate', by: 'ann', claims: () => boundTo('ann'), status: 200 },
  {
    it: 'with another certificate',
    by: 'bob',
    claims: () => boundTo('ann'),
    status: 401,
    says: 'bound to another client certificate',
  },
  {
    it: 'without a certificate',
    claims: () => boundTo('ann'),
    status: 401,
    says: 'bound to another client certificate',
  },
  { it: 'without a certificate where that is off', mode: 'off', claims: () => boundTo('ann'), status: 200 },
  {
    it: 'that is bound by DPoP',
    by: 'ann',
    claims: () => ({ cnf: { jkt: 'x' } }),
    status: 401,
    says: 'bound to the client in a way',
  },
  {
    it: 'whose binding is a text',
    by: 'ann',
    claims: () => ({ cnf: 'x' }),
    status: 401,
    says: 'bound to the client in a way',
  },
  { it: 'without a binding', by: 'ann', claims: () => ({ sub: 'ann' }), status: 200 },
  {
    it: 'without a binding where one is required',
    mode: 'required',
    by: 'ann',
    claims: () => ({ sub: 'ann' }),
    status: 401,
    says: 'not bound to a client certificate',
  },
];

for (const { it, mode = 'auto', by, claims, status, says } of cases)
  test.skipIf(!HAS_OPENSSL)(`a token ${it} gets ${status}`, async (t) => {
    const gw = await load(
      t,
      (
        _,
        port,
      ) => `server { listen 127.0.0.1:${port} ssl; ssl_certificate server.crt; ssl_certificate_key server.key;
        ssl_verify_client optional_no_ca;
        location / { auth_jwt api; auth_jwt_key_file keys.json; auth_jwt_bound ${mode}; echo ok; } }`,
      {
        'server.crt': certificates.read('server.crt'),
        'server.key': certificates.read('server.key'),
        'keys.json': jwks({ a: SECRET }),
      },
    );
    const client = by ? { cert: certificates.read(`${by}.crt`), key: certificates.read(`${by}.key`) } : {};
    expect(await statusOf(gw.port, client, claims())).toBe(status);
    if (says) await gw.waitForLog(new RegExp(`\\[info\\] .*the token is refused: it is ${says}`));
  });

const forwarded = [
  { it: 'as bytes', header: (der: Buffer) => `:${der.toString('base64')}:`, status: 200 },
  {
    it: 'as escaped PEM',
    header: (der: Buffer) => encodeURIComponent(new X509Certificate(der).toString()),
    status: 200,
  },
  { it: 'of somebody else', by: 'bob', header: (der: Buffer) => `:${der.toString('base64')}:`, status: 401 },
  { it: 'as bytes that are none', header: () => ':AAAA:', status: 401 },
  { it: 'without a colon', header: (der: Buffer) => der.toString('base64'), status: 401 },
  {
    it: 'by a proxy that is not trusted',
    from: '192.0.2.1',
    header: (der: Buffer) => `:${der.toString('base64')}:`,
    status: 401,
  },
];

for (const { it, by = 'ann', from = '127.0.0.1', header, status } of forwarded)
  test.skipIf(!HAS_OPENSSL)(
    `a token with a certificate that is forwarded ${it} gets ${status}`,
    async (t) => {
      const gw = await load(
        t,
        `set_real_ip_from ${from}; server { location / { auth_jwt api; auth_jwt_key_file keys.json;
         auth_jwt_client_certificate $http_client_cert; echo ok; } }`,
        { 'keys.json': jwks({ a: SECRET }) },
      );
      const der = new X509Certificate(certificates.read(`${by}.crt`)).raw;
      const headers = { ...bearer(sign(boundTo('ann'))), 'client-cert': header(der) };
      await gw.expect('GET /', { status }, { headers });
    },
  );
