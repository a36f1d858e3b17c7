import type { KeyObject, X509Certificate } from 'node:crypto';
import type { AcmeIdentifier } from '../plan.ts';
import { certificatesIn, factsOfLeaf } from './chain.ts';

/** What a chain has to fit. */
interface Demands {
  readonly pem: string;
  /** The private key. */
  readonly key: KeyObject;
  readonly identifiers: readonly AcmeIdentifier[];
  readonly nowMs: number;
}

/** True if the certificate at the beginning of a chain is one of the private key. */
export function fitsKey(pem: string, key: KeyObject): boolean {
  try {
    return certificatesIn(pem)[0]?.checkPrivateKey(key) === true;
  } catch {
    return false;
  }
}

/**
 * Returns why a chain may not serve, as the end of a sentence that begins with the chain; `undefined` if it may. The
 * certificate must be one of the key, for all identifiers, and valid now; each certificate must be signed by the next.
 */
export async function chainFault({ pem, key, identifiers, nowMs }: Demands): Promise<string | undefined> {
  try {
    const chain = certificatesIn(pem);
    const [leaf] = chain;
    if (!leaf) return 'it has no certificate';
    const { names, notBeforeMs, notAfterMs } = await factsOfLeaf(leaf);
    if (!leaf.checkPrivateKey(key)) return 'its certificate belongs to another key';
    const missing = identifiers.find((wanted) => !names.some((name) => isSame(name, wanted)));
    if (missing) return `its certificate is not valid for "${missing.value}"`;
    if (!(notBeforeMs <= nowMs)) return `its certificate is not valid before ${timeOf(notBeforeMs)}`;
    if (!(notAfterMs > nowMs))
      return `its certificate has expired at ${timeOf(notAfterMs)} (the clock of this machine says ${timeOf(nowMs)})`;
    return orderFault(chain);
  } catch (error) {
    return (error as Error).message;
  }
}

function isSame(one: AcmeIdentifier, other: AcmeIdentifier): boolean {
  return one.type === other.type && one.value === other.value;
}

function timeOf(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : 'a malformed date';
}

/** RFC 8555, 9.1: each certificate certifies the one before it. */
function orderFault(chain: readonly X509Certificate[]): string | undefined {
  for (const [at, issuer] of chain.slice(1).entries()) {
    const subject = chain[at];
    if (!subject?.checkIssued(issuer) || !subject.verify(issuer.publicKey))
      return `certificate ${at + 1} of its chain is not signed by the one that follows`;
  }
  return undefined;
}
