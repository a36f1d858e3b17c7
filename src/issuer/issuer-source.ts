import { createHash } from 'node:crypto';
import type { TrustSettings } from '../client/index.ts';
import type { SharedTextDeclaration } from '../zone/index.ts';

/** Where the documents of an issuer are. It has keys at a URL, or metadata that say where they are. */
export interface IssuerSource {
  /** The JWK set; absent: `jwks_uri` of the metadata. */
  readonly keysUrl?: string | undefined;
  readonly metadata?: MetadataSource | undefined;
  readonly trust?: TrustSettings | undefined;
}

/** Where the metadata of an issuer are. */
interface MetadataSource {
  /** What the metadata must say in `issuer`. */
  readonly issuer: string;
  /** The first one that exists counts. */
  readonly urls: readonly string[];
}

/** Longest documents. */
export const MOST_KEYS_BYTES = 1_048_576;
export const MOST_METADATA_BYTES = 262_144;

/**
 * The metadata of an issuer that has only its name: OpenID Connect Discovery 1.0, section 4, or else RFC 8414, section
 * 3.
 */
export function metadataOf(issuer: string): MetadataSource {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return {
    issuer,
    urls: [
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
    ],
  };
}

/** What an issuer is called in messages. */
export function nameOfIssuer({ keysUrl, metadata }: IssuerSource): string {
  return metadata?.issuer ?? keysUrl ?? '';
}

/** The shared memory of the documents. The record repeats quotes of the texts with backslashes. */
export function issuerZone({ keysUrl, metadata, trust }: IssuerSource): SharedTextDeclaration {
  const trusted = [trust?.ca, trust?.crl].filter((text) => text !== undefined);
  const digest = createHash('sha256').update(JSON.stringify(trusted)).digest('base64url');
  const parts = [
    metadata?.issuer,
    ...(metadata?.urls ?? []),
    keysUrl,
    trusted.length > 0 ? digest : undefined,
  ];
  return {
    name: `issuer: ${parts.filter((part) => part !== undefined).join(' ')}`,
    kind: 'shared text',
    bytes: 2 * (MOST_KEYS_BYTES + MOST_METADATA_BYTES) + 4_096,
  };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** True for a host, as URLs have it, that only this machine reaches. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

/** Why documents may not be fetched from a URL, or tokens sent to it. */
export function issuerUrlFault(text: string): string | undefined {
  if (text.includes('$')) return 'it is asked once for all requests: no variables';
  if (!URL.canParse(text) || !/^https?:/i.test(text))
    return 'expected a URL such as https://issuer.example/path';
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return 'no user name and no password';
  if (protocol === 'http:' && !isLoopback(hostname))
    return 'whoever is on the way could replace what it says: use https';
  return undefined;
}

/**
 * Why a URL in the metadata of an issuer may not be used. Only an issuer that is itself at `http` on this machine leads
 * to other programs there: one elsewhere could have gw send them requests.
 */
export function namedUrlFault(text: string, issuer: string): string | undefined {
  const fault = issuerUrlFault(text);
  if (fault !== undefined || !isPlain(text) || isPlain(issuer)) return fault;
  return 'an issuer elsewhere cannot name a URL of this machine: use https';
}

function isPlain(url: string): boolean {
  return new URL(url).protocol === 'http:';
}
