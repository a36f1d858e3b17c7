import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { chainFault, readChain } from '../../../src/acme/certificates/index.ts';
import { startAnswering } from '../../harness/acme-answering.ts';
import { HAS_OPENSSL } from '../../harness/certificates.ts';
import { startDnsServer } from '../../harness/dns-server.ts';
import { HAS_PEBBLE, type Pebble, startPebble } from '../../harness/pebble.ts';
import { clientOf, dns, issue } from './account-of.ts';

const NAMES = [dns('a.test'), dns('b.test')];
const EXTERNAL = { 'kid-1': 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' };

const CAN = HAS_PEBBLE && HAS_OPENSSL;

const trusting = ({ url, caFile, ca }: Pebble): Parameters<typeof clientOf> => [
  { url },
  { acceptsTerms: true, trusted: { path: caFile, text: ca } },
];

test.runIf(CAN)(
  'Pebble issues by http-01, with an external account and while it refuses nonces',
  async (t) => {
    const { port, answers } = await startAnswering(t);
    const records = { addresses: ['127.0.0.1'] };
    const server = await startDnsServer(t, { 'a.test': records, 'b.test': records });
    const pebble = await startPebble(t, {
      httpPort: port,
      tlsPort: 1,
      dns: `127.0.0.1:${server.port}`,
      externalAccounts: EXTERNAL,
      nonceRejections: 10,
    });
    const [at, issuer] = trusting(pebble);
    const externalAccount = { kid: 'kid-1', key: EXTERNAL['kid-1'] };
    const { client } = clientOf(at, { ...issuer, externalAccount, contacts: ['mailto:admin@a.test'] });
    const prove = (token: string): void => void answers.set(token, client.keyAuthorization(token));
    const { pem, key } = await issue(client, NAMES, { prove });
    expect(await chainFault({ pem, key, identifiers: NAMES, nowMs: Date.now() })).toBe(undefined);
    const { serial, names } = await readChain(pem);
    expect(names).toEqual(NAMES);
    expect(await pebble.certStatus(serial)).toMatchObject({ Status: 'Valid' });
    await client.revoke(pem, { reason: 1 });
    expect(await pebble.certStatus(serial)).toMatchObject({ Status: 'Revoked', Reason: 1 });
  },
);

test.runIf(CAN)('the certificate of the authority is verified, unless that is switched off', async (t) => {
  const pebble = await startPebble(t, { httpPort: 1, tlsPort: 1 });
  const [at, issuer] = trusting(pebble);
  expect((await clientOf(at, issuer).client.directory()).termsOfService).toMatch(/^data:|^https?:/);
  await expect(clientOf(at).client.directory()).rejects.toMatchObject({ kind: 'unreachable' });
  await clientOf(at, { verifies: false }).client.directory();
});

test.runIf(CAN)('a chain of Pebble is chosen by its root', async (t) => {
  const pebble = await startPebble(t, { httpPort: 1, tlsPort: 1, alternateRoots: 2, alwaysValid: true });
  const { client } = clientOf(...trusting(pebble));
  for (const number of [0, 1, 2]) {
    const root = new X509Certificate(await pebble.root(number));
    const preferredChain = root.subject.replace(/^.*CN=/s, '');
    const { pem } = await issue(client, NAMES, { preferredChain });
    const last = pem.split(/(?<=-----END CERTIFICATE-----\n)/).findLast((one) => one.includes('BEGIN')) ?? '';
    expect(new X509Certificate(last).issuer).toBe(root.subject);
  }
});
