import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { ClientCertificate } from '../../../http/index.ts';
import { type TlsPlan, verifierOf } from '../../../plan/index.ts';
import { verifyError } from '../../../system/index.ts';
import { readSession } from './session-state.ts';

/** Number of clients that can resume their sessions at this worker; the others need a full handshake. */
const MOST_CHAINS = 10_000;
/** Unlike a certificate, a chain can be circular. */
const MOST_CERTIFICATES = 100;

/** A client's certificate, and the certificates that it was verified with, from its own to the root. */
export interface ShownCertificate extends ClientCertificate {
  readonly chain: readonly X509Certificate[];
}

/** A chain that has passed all checks. */
interface VerifiedChain {
  /** The time at which the first of its certificates expires. */
  readonly endsMs: number;
  /** The certificates after the client's own, in DER, if their status is checked. */
  readonly issuers: readonly Buffer[];
}

/**
 * Verifies the certificates of clients. A session stores the certificate and OpenSSL's verdict on it, but neither its
 * chain nor the faults of the chain. So a session is resumed only while this worker knows that its certificate passes
 * all checks. Otherwise the client must show its chain again.
 */
export class ClientCertificates {
  readonly #verified = new LRUCache<string, VerifiedChain>({ max: MOST_CHAINS });
  readonly #authorities = new WeakMap<TlsPlan, readonly X509Certificate[]>();

  /** Returns a client's certificate and its fault, after the handshake; `undefined` if it has sent none. */
  of(socket: TLSSocket, plan: TlsPlan): ShownCertificate | undefined {
    // Must come first: after `getPeerX509Certificate` Node no longer finds the chain.
    const shown = socket.isSessionReused() ? [] : chainOf(socket.getPeerCertificate(true));
    const chain = this.#completed(shown, plan);
    const certificate = socket.getPeerX509Certificate();
    if (!certificate) return undefined;
    const client = { certificate, verifier: verifierOf(plan), chain };
    if (!socket.authorized) return { ...client, fault: faultOf(String(socket.authorizationError)) };
    if (socket.isSessionReused()) {
      const known = this.#known(certificate, plan);
      if (known)
        return { ...client, chain: [certificate, ...known.issuers.map((der) => new X509Certificate(der))] };
    } else if (!isTooLong(chain, plan)) {
      this.#verified.set(idOf(certificate, plan), verifiedChain(chain, plan));
      return client;
    } else this.#verified.delete(idOf(certificate, plan));
    // Beyond the depth, OpenSSL does not look for an issuer.
    return { ...client, fault: faultOf('UNABLE_TO_GET_ISSUER_CERT_LOCALLY') };
  }

  /** Tells whether a client would still pass all checks if it resumed its session. */
  mayResume(session: Buffer, plan: TlsPlan): boolean {
    if (plan.verify === 'off') return true;
    const state = readSession(session);
    if (!state) return false;
    // OpenSSL finds its own faults again in the session.
    if (!state.certificate || !state.isVerified) return true;
    return this.#known(new X509Certificate(state.certificate), plan) !== undefined;
  }

  /** Returns the authorities of a server that have signed, or may have signed, certificates of clients. */
  authoritiesOf(plan: TlsPlan): readonly X509Certificate[] {
    const known = this.#authorities.get(plan) ?? plan.authorities.map((pem) => new X509Certificate(pem));
    this.#authorities.set(plan, known);
    return known;
  }

  #known(certificate: X509Certificate, plan: TlsPlan): VerifiedChain | undefined {
    const id = idOf(certificate, plan);
    const known = this.#verified.get(id) ?? this.#rebuilt(certificate, plan);
    if (!known || known.endsMs <= Date.now()) return undefined;
    this.#verified.set(id, known);
    return known;
  }

  /** Rebuilds the chain from the server's own certificates: most chains consist of them, whatever the client sends. */
  #rebuilt(certificate: X509Certificate, plan: TlsPlan): VerifiedChain | undefined {
    const chain = this.#completed([certificate], plan);
    const isWhole = isOwnIssuer(chain.at(-1) ?? certificate);
    return isWhole && !isTooLong(chain, plan) ? verifiedChain(chain, plan) : undefined;
  }

  /** Adds the authorities that have signed the last certificate of a chain: Node.js 24 shows only the first one. */
  #completed(shown: readonly X509Certificate[], plan: TlsPlan): readonly X509Certificate[] {
    const chain = [...shown];
    for (let at = chain.at(-1); at && !isOwnIssuer(at) && chain.length < MOST_CERTIFICATES;) {
      at = issuerOf(at, this.authoritiesOf(plan));
      if (at) chain.push(at);
    }
    return chain;
  }
}

function faultOf(code: string): NonNullable<ClientCertificate['fault']> {
  return { code, text: verifyError(code).message };
}

/** The id includes the server: a certificate may pass at one server and fail at another. */
function idOf({ fingerprint256 }: X509Certificate, plan: TlsPlan): string {
  return `${verifierOf(plan)} ${fingerprint256}`;
}

/**
 * OpenSSL's depth counts the certificates between the client's own and the root. A chain without a root at its end has
 * at least one more, which the client has sent and Node.js 24 does not show.
 */
function isTooLong(chain: readonly X509Certificate[], { verifyDepth }: TlsPlan): boolean {
  const last = chain.at(-1);
  const hidden = last && !isOwnIssuer(last) ? 2 : 0;
  return chain.length + hidden - 2 > verifyDepth;
}

function verifiedChain(chain: readonly X509Certificate[], { ocsp }: TlsPlan): VerifiedChain {
  return {
    endsMs: Math.min(...chain.map(({ validTo }) => Date.parse(validTo))),
    issuers: ocsp?.mode === 'on' ? chain.slice(1).map(({ raw }) => raw) : [],
  };
}

/** Returns the certificates of a client from its own to the last one that is known. */
function chainOf(leaf: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  // Contrary to the types, a client may have no certificate, and the last certificate may have no issuer.
  let at = leaf as Partial<DetailedPeerCertificate> | undefined;
  while (at?.raw && chain.length < MOST_CERTIFICATES) {
    chain.push(new X509Certificate(at.raw));
    at = at.issuerCertificate === at ? undefined : at.issuerCertificate;
  }
  return chain;
}

/** Returns the first of some certificates that has signed another one. */
export function issuerOf(
  certificate: X509Certificate,
  candidates: readonly X509Certificate[],
): X509Certificate | undefined {
  return candidates.find(
    (candidate) =>
      candidate.fingerprint256 !== certificate.fingerprint256 &&
      certificate.checkIssued(candidate) &&
      certificate.verify(candidate.publicKey),
  );
}

/** Tells whether a certificate is a root: it has signed itself. */
export function isOwnIssuer(certificate: X509Certificate): boolean {
  return certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey);
}
