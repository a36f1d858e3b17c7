import { createHash } from 'node:crypto';
import type { LoadedFile } from '../client/index.ts';

/** The keys that gw makes, for accounts and for certificates. */
export const ACME_KEY_KINDS = [
  'ecdsa:256',
  'ecdsa:384',
  'ecdsa:521',
  'rsa:2048',
  'rsa:3072',
  'rsa:4096',
] as const;
export type AcmeKeyKind = (typeof ACME_KEY_KINDS)[number];

/** How an authority sees that a name is this gateway's (RFC 8555, 8; RFC 8737; draft-ietf-acme-dns-persist). */
export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01' | 'dns-persist-01';

/** A name in a certificate, in lower case. IPv6 addresses have their shortest form; a wildcard begins with `*.`. */
export interface AcmeIdentifier {
  readonly type: 'dns' | 'ip';
  readonly value: string;
}

/** An `acme_issuer` block, or what the directives of nginz say; that one is called `acme`. */
export interface AcmeIssuer {
  readonly name: string;
  /** The URL of the directory: https, or http on loopback. */
  readonly uri: string;
  /** A file is read at load, when root may. */
  readonly accountKey: { readonly generate: AcmeKeyKind } | { readonly file: string; readonly text: string };
  readonly challenge: ChallengeType;
  /** URLs. */
  readonly contacts: readonly string[];
  /** The key is in base64url (RFC 8555, 7.3.4); a file is read at load. */
  readonly externalAccount?: { readonly kid: string; readonly key: string };
  /** The name of the issuer at the end of the chain. */
  readonly preferredChain?: string;
  readonly profile?: { readonly name: string; readonly isRequired: boolean };
  /** The CA certificates of the authority's server; absent: those that Node.js knows. */
  readonly trusted?: LoadedFile;
  readonly verifies: boolean;
  /** Absolute; `undefined`: nothing is written. */
  readonly statePath: string | undefined;
  readonly acceptsTerms: boolean;
  /** The first name is also the common name of requests for certificates. */
  readonly namesInCsr: boolean;
  /** The command, and its arguments before those of gw. */
  readonly dnsHook?: readonly string[];
  readonly dnsWaitMs: number;
  /** How long before its end a certificate is renewed; absent: the authority says so, or the certificate's life. */
  readonly renewBeforeMs?: number;
}

/** An `acme_certificate`. */
export interface AcmeCertificate {
  /** The name of its issuer. */
  readonly issuer: string;
  /** At least one. */
  readonly identifiers: readonly AcmeIdentifier[];
  readonly key: AcmeKeyKind;
}

/** Certificates that are ordered when a client asks for their names. */
export interface OnDemandRules {
  readonly issuer: string;
  readonly key: AcmeKeyKind;
  /** So many orders in that time. */
  readonly rate: { readonly orders: number; readonly perMs: number };
  /** How many certificates there may be. */
  readonly max: number;
}

/** All that a configuration says about certificates. */
export interface AcmePlan {
  readonly issuers: readonly AcmeIssuer[];
  /** Each once. */
  readonly certificates: readonly AcmeCertificate[];
  readonly onDemand: readonly OnDemandRules[];
  /** The cluster whose gateways share them. */
  readonly cluster: string | undefined;
}

/** Where no `key=` is given. */
export const USUAL_KEY: AcmeKeyKind = 'ecdsa:256';

/**
 * Names a certificate in shared memory, state and metrics: its first name; with a digest if it has more names, or
 * another kind of key than the usual one. It fits into the name of a file.
 */
export function certificateId({ identifiers, key }: AcmeCertificate): string {
  const values = identifiers.map(({ value }) => value);
  const [first = ''] = values;
  if (values.length === 1 && key === USUAL_KEY && first.length <= 200) return first;
  const digest = createHash('sha256')
    .update(JSON.stringify([...values, key]))
    .digest('hex');
  return `${first.slice(0, 200)}-${digest.slice(0, 12)}`;
}
