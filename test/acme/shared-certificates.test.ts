import { expect, test } from 'vitest';
import {
  type AcmeCertificate,
  certificateId,
  certificatesZone,
  SharedCertificates,
  SharedMemoryFault,
} from '../../src/acme/index.ts';
import { createZone, openDictionary } from '../../src/zone/index.ts';

const SMALLEST = 32_768;

/** Two threads that share memory. */
function twoThreads(sizeBytes?: number): [SharedCertificates, SharedCertificates] {
  const own = sizeBytes === undefined ? undefined : { name: 'one', sizeBytes };
  const memory = createZone(certificatesZone({ certificates: [], onDemand: [] }, own));
  const [one, other] = [1, 2].map((thread) => new SharedCertificates(openDictionary(memory, thread)));
  return [one as SharedCertificates, other as SharedCertificates];
}

const pair = { chain: 'CHAIN', key: 'KEY' };
const certificate = (...names: readonly string[]): AcmeCertificate => ({
  issuer: 'le',
  identifiers: names.map((value) => ({ type: 'dns', value })),
  key: 'ecdsa:256',
});

test('what one thread puts, the others read', () => {
  const [one, other] = twoThreads();
  one.putToken('t', 't.thumb', 60_000);
  one.putCertificate('a.test', pair);
  one.putChallengeCertificate('b.test', pair, 60_000);
  expect(other.token('t')).toBe('t.thumb');
  expect(other.certificate('a.test')).toEqual(pair);
  expect(other.challengeCertificate('b.test')).toEqual(pair);
  one.dropToken('t');
  one.dropCertificate('a.test');
  one.dropChallengeCertificate('b.test');
  expect(other.token('t')).toBeUndefined();
  expect(other.certificate('a.test')).toBeUndefined();
  expect(other.challengeCertificate('b.test')).toBeUndefined();
});

test('a pair is the same object until it is another one', () => {
  const [one, other] = twoThreads();
  one.putCertificate('a.test', pair);
  const first = other.certificate('a.test');
  one.putToken('t', 'x', 60_000);
  expect(other.certificate('a.test')).toBe(first);
  one.putCertificate('a.test', { ...pair, chain: 'NEW' });
  expect(other.certificate('a.test')).toEqual({ chain: 'NEW', key: 'KEY' });
});

test('full memory refuses a pair with a clear fault, and keeps the others', () => {
  const [one] = twoThreads(SMALLEST);
  one.putCertificate('a.test', pair);
  const large = { chain: 'x'.repeat(SMALLEST), key: 'KEY' };
  expect(() => one.putCertificate('b.test', large)).toThrow(SharedMemoryFault);
  expect(() => one.putCertificate('b.test', large)).toThrow(
    'the shared memory for certificates is full: "acme_shared_zone" makes it larger',
  );
  expect(one.certificate('a.test')).toEqual(pair);
  expect(one.fill).toBeGreaterThan(0);
});

test('a question is asked once, by whomever, until it is answered', () => {
  const [one, other] = twoThreads();
  expect([one.ask(certificate('a.test')), other.ask(certificate('a.test'))]).toEqual([true, true]);
  expect(other.asked()).toEqual([certificate('a.test')]);
  other.answer(certificate('a.test'), 'issued');
  expect(one.asked()).toEqual([]);
  expect(one.answerTo('a.test')).toBe('issued');
});

test('questions have a bound', () => {
  const [one] = twoThreads();
  const asked = Array.from({ length: 100 }, (_, index) => one.ask(certificate(`n${index}.test`)));
  expect(asked.filter(Boolean)).toHaveLength(64);
  expect(one.asked()).toHaveLength(64);
});

test('answers to many questions leave room for certificates', () => {
  const [one, other] = twoThreads(131_072);
  for (let n = 0; n < 5_000; n += 1) one.answer(certificate(`${'a'.repeat(150)}${n}.test`), 'refused');
  one.putCertificate('a.test', { chain: 'x'.repeat(8_192), key: 'KEY' });
  const last = `${'a'.repeat(150)}4999.test`;
  expect([other.answerTo(last), other.answerTo('b.test')]).toEqual(['refused', undefined]);
});

test('an id is the first name, with a digest if that alone would be ambiguous', () => {
  const two = certificateId(certificate('a.test', 'b.test'));
  expect(certificateId(certificate('a.test'))).toBe('a.test');
  expect(two).toMatch(/^a\.test-[\da-f]{12}$/);
  expect(certificateId({ ...certificate('a.test'), key: 'rsa:2048' })).toMatch(/^a\.test-[\da-f]{12}$/);
  expect(two).not.toBe(certificateId(certificate('a.test', 'c.test')));
});

test('larger memory takes over what the smaller one has, and keeps what is newer', () => {
  const [older] = twoThreads(SMALLEST);
  const [newer] = twoThreads();
  older.putCertificate('a.test', pair);
  older.putCertificate('b.test', pair);
  older.putToken('t', 't.thumb', 60_000);
  newer.putCertificate('b.test', { ...pair, chain: 'NEW' });
  newer.adopt(older);
  expect(newer.certificate('a.test')).toEqual(pair);
  expect(newer.certificate('b.test')).toEqual({ chain: 'NEW', key: 'KEY' });
  expect(newer.token('t')).toBe('t.thumb');
});

test('by default there is room for all certificates, and some more do not change the size', () => {
  const size = (count: number): number => {
    const certificates = Array.from({ length: count }, (_, index) => certificate(`n${index}.test`));
    return certificatesZone({ certificates, onDemand: [] }, undefined).sizeBytes;
  };
  expect(size(1)).toBeGreaterThanOrEqual(262_144);
  expect(size(1_000)).toBeGreaterThanOrEqual(1_000 * 16_384);
  expect(size(1_001)).toBe(size(1_000));
});
