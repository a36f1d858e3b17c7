import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { challengeCertificate, challengeServerName } from '../certificates/index.ts';
import type { AcmeIdentifier, AcmeIssuer } from '../plan.ts';
import type { CertificatePair } from '../shared-certificates.ts';
import { runDnsHook } from './dns-hook.ts';

/** Where clients of challenges find what proves control of names: in all workers, and on all gateways of a cluster. */
export interface ProofStore {
  putToken(token: string, keyAuthorization: string, ttlMs: number): void;
  dropToken(token: string): void;
  putChallengeCertificate(name: string, pair: CertificatePair, ttlMs: number): void;
  dropChallengeCertificate(name: string): void;
  /** Resolves when all gateways should know what was put. */
  spread(signal: AbortSignal): Promise<void>;
}

/** What an authority wants to see for one name. */
interface Demand {
  readonly identifier: AcmeIdentifier;
  readonly token: string;
  readonly keyAuthorization: string;
}

/** Proves control of one name while a challenge is open. */
export interface Proof {
  /** Rejects with one line. */
  present(): Promise<void>;
  /** Takes away what `present` has made, or may have made. Rejects with one line. */
  remove(): Promise<void>;
}

interface ProofParts {
  readonly issuer: AcmeIssuer;
  readonly store: ProofStore;
  readonly signal: AbortSignal;
}

/** Longer than an order takes; what a killed process leaves behind ends by itself. */
const TTL_MS = 3_600_000;

/** Returns how control of a name is proved by the challenge of an issuer. */
export function proofOf(demand: Demand, parts: ProofParts): Proof {
  const { challenge } = parts.issuer;
  if (challenge === 'http-01') return httpProof(demand, parts);
  if (challenge === 'tls-alpn-01') return tlsProof(demand, parts);
  return challenge === 'dns-01' ? dnsProof(demand, parts) : STANDING;
}

/** The record of dns-persist-01 stands already. */
const STANDING: Proof = { present: () => Promise.resolve(), remove: () => Promise.resolve() };

/** RFC 8555, 8.3. */
function httpProof({ token, keyAuthorization }: Demand, { store }: ProofParts): Proof {
  return {
    present: async () => store.putToken(token, keyAuthorization, TTL_MS),
    remove: async () => store.dropToken(token),
  };
}

/** RFC 8737, 3; RFC 8738, 6. */
function tlsProof({ identifier, keyAuthorization }: Demand, { store }: ProofParts): Proof {
  return {
    async present() {
      const pair = await challengeCertificate(identifier, keyAuthorization);
      store.putChallengeCertificate(await challengeServerName(identifier), pair, TTL_MS);
    },
    async remove() {
      store.dropChallengeCertificate(await challengeServerName(identifier));
    },
  };
}

/** RFC 8555, 8.4. */
function dnsProof({ identifier, keyAuthorization }: Demand, { issuer, signal }: ProofParts): Proof {
  const name = `_acme-challenge.${identifier.value.replace(/^\*\./, '')}`;
  const value = createHash('sha256').update(keyAuthorization).digest('base64url');
  const { dnsHook: command = [] } = issuer;
  return {
    present: () => runDnsHook({ action: 'present', name, value }, { command, signal }),
    // A record is also taken away when the gateway stops.
    remove: () =>
      runDnsHook({ action: 'cleanup', name, value }, { command, signal: new AbortController().signal }),
  };
}

/** Waits until the authority can see what was presented. Rejects when `signal` is aborted. */
export async function untilSeen({ issuer, store, signal }: ProofParts): Promise<void> {
  const { challenge, dnsWaitMs } = issuer;
  if (challenge === 'dns-01') await sleep(dnsWaitMs, undefined, { signal, ref: false });
  else await store.spread(signal);
}
