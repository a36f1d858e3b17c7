import { createPublicKey, X509Certificate } from 'node:crypto';
import { PublicKeyInfo } from 'pkijs';
import { keyId, makeSigner, pemOf, type ReadRequest, type Signer, signRequest } from './acme-signing.ts';

/** What is wrong with the chains that an authority gives out. */
export type ChainKind =
  | 'good'
  | 'expired'
  | 'future'
  | 'other names'
  | 'other key'
  | 'unordered'
  | 'garbage'
  | 'with a key'
  | 'huge';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Signs the certificates of an authority, and spoils their chains as told. */
export class Certifier {
  readonly root: Signer = makeSigner('Test Root');
  readonly #intermediate: Signer = makeSigner('Test Intermediate', this.root);
  /** The root of the other chain. */
  readonly otherRoot: Signer = makeSigner('Other Root');
  chain: ChainKind = 'good';
  /** How long certificates are valid, beginning an hour ago. */
  lifetimeMs = 90 * DAY_MS;

  /** The roots in PEM. */
  get roots(): string {
    return pemOf(this.root.certificate, this.otherRoot.certificate);
  }

  /** Signs for a request: the certificate, its chain in PEM, and its id (RFC 9773, 4.1). */
  issue(request: ReadRequest): { readonly leaf: Buffer; readonly pem: string; readonly id: string } {
    const shiftMs = { expired: -2 * this.lifetimeMs, future: 3 * DAY_MS }[this.chain as string] ?? 0;
    const nowMs = Date.now() + shiftMs;
    const [fromMs, untilMs] = [nowMs - HOUR_MS, nowMs + this.lifetimeMs];
    const leaf = signRequest(this.#spoilt(request), this.#intermediate, { fromMs, untilMs });
    const { serialNumber } = new X509Certificate(leaf);
    // Node.js leaves out the zero before a first bit that is set.
    const serial = Buffer.from(/^[89A-F]/.test(serialNumber) ? `00${serialNumber}` : serialNumber, 'hex');
    const id = `${keyId(this.#intermediate).toString('base64url')}.${serial.toString('base64url')}`;
    return { leaf, pem: this.#chainOf(leaf), id };
  }

  #spoilt(request: ReadRequest): ReadRequest {
    if (this.chain === 'other names')
      for (const name of request.names.altNames) if (name.type === 2) name.value = 'other.test';
    if (this.chain !== 'other key') return request;
    const other = createPublicKey(makeSigner('another').key).export({ type: 'spki', format: 'der' });
    return { ...request, publicKey: PublicKeyInfo.fromBER(other) };
  }

  #chainOf(leaf: Buffer): string {
    const { certificate } = this.#intermediate;
    if (this.chain === 'garbage') return 'no certificate';
    if (this.chain === 'huge') return pemOf(leaf, certificate).repeat(2_000);
    if (this.chain === 'unordered') return pemOf(leaf, this.otherRoot.certificate);
    if (this.chain === 'with a key')
      return `${pemOf(leaf)}${String(this.otherRoot.key.export({ type: 'pkcs8', format: 'pem' }))}`;
    return pemOf(leaf, certificate);
  }

  /** The other chain: it ends with a certificate of the same key that the other root has signed. */
  otherChain(leaf: Buffer): string {
    const { name, key } = this.#intermediate;
    return pemOf(leaf, makeSigner(name, this.otherRoot, key).certificate);
  }
}
