import { X509Certificate } from 'node:crypto';
import type { TlsPlan } from '../../../plan/index.ts';
import type { ClientHello } from './client-hello.ts';
import { CURVES, CIPHERS } from './tls-facts.ts';

type Offers = Pick<ClientHello, 'ciphers' | 'curves' | 'signatureAlgorithms' | 'versions'>;

/** The type of a key; for an elliptic curve, the curve. */
type KeyType = string;

const TLS_1_3 = 0x0304;

/** The keys for which a signature algorithm can be used in TLS 1.3, by IANA's numbers (RFC 8446, 4.2.3). */
const SIGNATURES: ReadonlyMap<number, KeyType> = new Map([
  [0x0403, 'prime256v1'],
  [0x0503, 'secp384r1'],
  [0x0603, 'secp521r1'],
  [0x0804, 'rsa'],
  [0x0805, 'rsa'],
  [0x0806, 'rsa'],
  [0x0807, 'ed25519'],
  [0x0808, 'ed448'],
]);
/** The order that OpenSSL prefers. */
const PREFERRED: readonly number[] = [0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806];

/** The last byte of signature algorithms of TLS 1.2 (RFC 5246, 7.4.1.4.1). */
const RSA = 1;
const ECDSA = 3;

/** Values that node:tls does not show: the types of a plan's keys, and the ciphers that it allows. */
interface Choice {
  readonly keys: readonly KeyType[];
  /** Names of ciphers up to TLS 1.2 in the server's order; `undefined` if only OpenSSL can expand the list. */
  readonly ciphers: readonly string[] | undefined;
}

const choices = new WeakMap<TlsPlan, Choice>();

/**
 * Returns the index of the pair of a plan that OpenSSL will show a client; `undefined` if that is uncertain. It must be
 * known before OpenSSL chooses, and node:tls only knows the last pair (OpenSSL: tls_choose_sigalg, ssl3_choose_cipher).
 */
export function shownPair(plan: TlsPlan, offers: Offers): number | undefined {
  if (plan.certificates.length < 2) return 0;
  if (plan.signatureAlgorithms !== undefined) return undefined;
  const choice = choices.get(plan) ?? choiceOf(plan);
  choices.set(plan, choice);
  const isNew = plan.maxVersion === 'TLSv1.3' && offers.versions.includes(TLS_1_3);
  const index = isNew ? bySignature(choice, plan, offers) : byCipher(choice, plan, offers);
  return index < 0 ? undefined : index;
}

function bySignature({ keys }: Choice, { honorCipherOrder }: TlsPlan, offers: Offers): number {
  const offered = offers.signatureAlgorithms;
  const order = honorCipherOrder ? PREFERRED.filter((number) => offered.includes(number)) : offered;
  const chosen = order.find((number) => keys.includes(SIGNATURES.get(number) ?? ''));
  return keys.indexOf(SIGNATURES.get(chosen ?? 0) ?? '');
}

function byCipher({ keys, ciphers }: Choice, { honorCipherOrder }: TlsPlan, offers: Offers): number {
  const names = offers.ciphers.map((number) => CIPHERS[number] ?? '');
  const allowed = ciphers === undefined ? names : names.filter((name) => ciphers.includes(name));
  const order = honorCipherOrder
    ? (ciphers ?? byStrength(names)).filter((name) => allowed.includes(name))
    : allowed;
  for (const name of order) {
    const isCurve = name.includes('-ECDSA-');
    const index = keys.findIndex((key) => (key !== 'rsa') === isCurve && canSign(key, offers));
    if (index >= 0 && name !== '' && !name.startsWith('TLS_')) return index;
  }
  return -1;
}

/** Sorts ciphers as OpenSSL does: those for curves first. */
function byStrength(names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => Number(b.includes('-ECDSA-')) - Number(a.includes('-ECDSA-')));
}

/** Tells whether a TLS 1.2 key can be used: the client offers its curve and a signature algorithm for it. */
function canSign(key: KeyType, { signatureAlgorithms, curves }: Offers): boolean {
  const isRsa = key === 'rsa';
  const hasCurve = isRsa || curves.some((number) => CURVES[number] === key);
  const kind = isRsa ? RSA : ECDSA;
  const isSigned = (number: number): boolean => (number & 0xff) === kind || SIGNATURES.get(number) === key;
  return hasCurve && (signatureAlgorithms.length === 0 || signatureAlgorithms.some(isSigned));
}

function choiceOf({ certificates, ciphers }: TlsPlan): Choice {
  const keys = certificates.map((pem) => {
    const { asymmetricKeyType = '', asymmetricKeyDetails } = new X509Certificate(pem).publicKey;
    return asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType;
  });
  const names = new Set(Object.values(CIPHERS));
  const words = ciphers.split(/[:, ]+/).filter((word) => word !== '' && !word.startsWith('!'));
  return { keys, ciphers: words.every((word) => names.has(word)) ? words : undefined };
}
