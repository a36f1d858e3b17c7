import { execFileSync } from 'node:child_process';
import { createHash, type KeyObject, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  chainFault,
  challengeCertificate,
  challengeServerName,
  fitsKey,
  makeKey,
  makeRequest,
  readChain,
} from '../../../src/acme/certificates/index.ts';
import type { AcmeIdentifier } from '../../../src/acme/plan.ts';
import { Certifier, type ChainKind } from '../../harness/acme-issuing.ts';
import { readRequest } from '../../harness/acme-signing.ts';
import { HAS_OPENSSL } from '../../harness/certificates.ts';

const dns = (value: string): AcmeIdentifier => ({ type: 'dns', value });
const ip = (value: string): AcmeIdentifier => ({ type: 'ip', value });

const openssl = (args: string, input: Buffer | string): string =>
  execFileSync('openssl', args.split(' '), { input, stdio: ['pipe', 'pipe', 'pipe'] }).toString();

const KINDS = [
  { kind: 'ecdsa:256', says: /NIST CURVE: P-256/ },
  { kind: 'ecdsa:384', says: /NIST CURVE: P-384/ },
  { kind: 'ecdsa:521', says: /NIST CURVE: P-521/ },
  { kind: 'rsa:2048', says: /Public-Key: \(2048 bit\)/ },
] as const;

for (const { kind, says } of KINDS)
  test.runIf(HAS_OPENSSL)(`a request with a key of the kind ${kind} is one for OpenSSL`, async () => {
    const key = await makeKey(kind);
    const names = [dns('a.example'), dns('*.b.example'), ip('192.0.2.1'), ip('2001:db8::1')];
    const text = openssl('req -inform DER -verify -noout -text', await makeRequest(names, key));
    expect(text).toMatch(says);
    expect(text).toMatch(/Subject:\s*\n/);
    expect(text).toContain(
      'DNS:a.example, DNS:*.b.example, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1',
    );
  });

const long = `${'a'.repeat(60)}.example`;
const COMMON = [
  { it: 'the first name', names: [dns('a.example'), dns('b.example')], common: 'a.example' },
  { it: 'the first name that is not too long', names: [dns(long), dns('b.example')], common: 'b.example' },
  { it: 'none if all are too long', names: [dns(long)], common: undefined },
  { it: 'none if there are only addresses', names: [ip('192.0.2.1')], common: undefined },
];

for (const { it, names, common } of COMMON)
  test(`the common name of a request is ${it}`, async () => {
    const key = await makeKey('ecdsa:256');
    expect(readRequest(await makeRequest(names, key, { commonName: true })).commonName).toBe(common);
    expect(readRequest(await makeRequest(names, key)).commonName).toBe(undefined);
  });

const CHALLENGES = [
  { of: dns('a.example'), alternatives: 'DNS:a.example', server: 'a.example' },
  { of: ip('192.0.2.1'), alternatives: 'IP Address:192.0.2.1', server: '1.2.0.192.in-addr.arpa' },
  {
    of: ip('2001:db8::ab'),
    alternatives: 'IP Address:2001:DB8:0:0:0:0:0:AB',
    server: 'b.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
  },
];

for (const { of, alternatives, server } of CHALLENGES)
  test(`the challenge certificate of ${of.value} has its key authorization`, async () => {
    const { chain, key } = await challengeCertificate(of, 'token.thumbprint');
    const certificate = new X509Certificate(chain);
    expect(certificate.subjectAltName).toBe(alternatives);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now());
    expect(Date.parse(certificate.validTo)).toBeGreaterThan(Date.now());
    expect(key).toContain('-----BEGIN PRIVATE KEY-----');
    expect(await challengeServerName(of)).toBe(server);
    // SEQUENCE { OID 1.3.6.1.5.5.7.1.31, critical, OCTET STRING { OCTET STRING of 32 bytes } } (RFC 8737, 3)
    const digest = createHash('sha256').update('token.thumbprint').digest('hex');
    expect(certificate.raw.toString('hex')).toContain(`06082b0601050507011f0101ff04220420${digest}`);
  });

/** What a certifier signs for names. */
async function issued(
  names: readonly AcmeIdentifier[],
  { chain = 'good', lifetimeMs }: { readonly chain?: ChainKind; readonly lifetimeMs?: number } = {},
): Promise<{ readonly pem: string; readonly key: KeyObject; readonly id: string }> {
  const certifier = new Certifier();
  certifier.chain = chain;
  certifier.lifetimeMs = lifetimeMs ?? certifier.lifetimeMs;
  const key = await makeKey('ecdsa:256');
  return { ...certifier.issue(readRequest(await makeRequest(names, key))), key };
}

test('what is known of a chain is read', async () => {
  const names = [dns('a.example'), ip('192.0.2.1'), ip('2001:db8::1')];
  for (let n = 0; n < 8; n += 1) {
    const { pem, id } = await issued(names, { lifetimeMs: 86_400_000 });
    const facts = await readChain(pem);
    expect(facts).toMatchObject({ names, issuer: 'Test Intermediate', certificateId: id });
    expect(facts.notAfterMs - facts.notBeforeMs).toBe(90_000_000);
    expect(facts.serial).toBe(new X509Certificate(pem).serialNumber.toLowerCase());
    expect(facts.fingerprint).toMatch(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  }
});

const ONE = [dns('a.example')];
const FAULTS: readonly {
  readonly it: string;
  readonly chain?: ChainKind;
  readonly text?: (pem: string) => string;
  readonly wanted?: readonly AcmeIdentifier[];
  readonly says: string | RegExp;
}[] = [
  { it: 'has expired', chain: 'expired', says: /^its certificate has expired at \d{4}-\d\d-\d\dT/ },
  { it: 'is not valid yet', chain: 'future', says: /^its certificate is not valid before \d{4}-/ },
  { it: 'is for another name', chain: 'other names', says: 'its certificate is not valid for "a.example"' },
  {
    it: 'lacks a name',
    wanted: [...ONE, dns('b.example')],
    says: 'its certificate is not valid for "b.example"',
  },
  { it: 'is of another key', chain: 'other key', says: 'its certificate belongs to another key' },
  {
    it: 'is out of order',
    chain: 'unordered',
    says: 'certificate 1 of its chain is not signed by the one that follows',
  },
  { it: 'is no PEM', chain: 'garbage', says: 'it has no certificate' },
  { it: 'is empty', text: () => '', says: 'it has no certificate' },
  { it: 'has a key beside it', chain: 'with a key', says: 'it has other things than certificates' },
  { it: 'is endless', chain: 'huge', says: 'it has more than 16 certificates' },
  {
    it: 'has a long text beside it',
    text: (pem: string) => `${pem}${'# a comment\n'.repeat(6_000)}`,
    says: 'it is longer than 65536 characters',
  },
  {
    it: 'begins often and never ends',
    text: () => '-----BEGIN CERTIFICATE-----'.repeat(38_000),
    says: 'it has more than 16 certificates',
  },
  {
    it: 'is cut off',
    text: (pem: string) => pem.slice(0, -40),
    says: 'it has other things than certificates',
  },
  {
    it: 'is not ASN.1',
    text: (pem: string) => pem.replace(/\n[\w+/]{64}\n/, '\n'),
    says: 'it has a malformed certificate',
  },
];

for (const { it, chain, text = (pem: string) => pem, wanted = ONE, says } of FAULTS)
  test(`a chain that ${it} may not serve`, async () => {
    const { pem, key } = await issued(ONE, chain ? { chain } : {});
    const fault = await chainFault({ pem: text(pem), key, identifiers: wanted, nowMs: Date.now() });
    expect(fault).toEqual(typeof says === 'string' ? says : expect.stringMatching(says));
  });

test('a chain that fits may serve, and fits no other key', async () => {
  const { pem, key } = await issued(ONE);
  expect(await chainFault({ pem, key, identifiers: ONE, nowMs: Date.now() })).toBe(undefined);
  expect(fitsKey(pem, key)).toBe(true);
  expect(fitsKey(pem, await makeKey('ecdsa:256'))).toBe(false);
  expect(fitsKey('garbage', key)).toBe(false);
});
