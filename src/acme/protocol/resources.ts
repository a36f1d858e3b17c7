import { isObject } from '../../json.ts';
import { namedUrlFault } from '../../issuer/index.ts';
import type { AcmeIdentifier } from '../plan.ts';
import { type AcmeFault, malformed, problemFault, shownText } from './fault.ts';

/** What an authority offers (RFC 8555, 7.1.1). */
export interface AcmeDirectory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  readonly revokeCert?: string | undefined;
  /** RFC 9773. */
  readonly renewalInfo?: string | undefined;
  readonly termsOfService?: string | undefined;
  readonly website?: string | undefined;
  readonly externalAccountRequired: boolean;
  /** What it is called in DNS records (`caaIdentities`). */
  readonly issuerDomains: readonly string[];
  /** Names of profiles with their descriptions. */
  readonly profiles: ReadonlyMap<string, string>;
}

/** RFC 8555, 7.1.3. */
export interface AcmeOrder {
  readonly url: string;
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  readonly expiresMs?: number | undefined;
  readonly identifiers: readonly AcmeIdentifier[];
  /** URLs. */
  readonly authorizations: readonly string[];
  readonly finalize: string;
  /** The URL of the chain, when the order is valid. */
  readonly certificate?: string | undefined;
  readonly error?: AcmeFault | undefined;
}

/** RFC 8555, 7.1.4. */
export interface AcmeAuthorization {
  readonly url: string;
  /** Without `*.`: see `isWildcard`. */
  readonly identifier: AcmeIdentifier;
  readonly isWildcard: boolean;
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  readonly expiresMs?: number | undefined;
  readonly challenges: readonly AcmeChallenge[];
}

/** RFC 8555, 7.1.5. */
export interface AcmeChallenge {
  readonly type: string;
  readonly url: string;
  /** Empty for types that have none. */
  readonly token: string;
  readonly status: 'pending' | 'processing' | 'valid' | 'invalid';
  readonly error?: AcmeFault | undefined;
  /** Of dns-persist-01: what a record may begin with. */
  readonly issuerDomainNames?: readonly string[];
}

const ORDER_STATUSES = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const;
const AUTHORIZATION_STATUSES = ['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'] as const;
const CHALLENGE_STATUSES = ['pending', 'processing', 'valid', 'invalid'] as const;

const MOST_PROFILES = 100;
const MOST_CHALLENGES = 32;
const MOST_AUTHORIZATIONS = 1_000;
/** RFC 8555, 8.3: the alphabet of base64url; at least 128 bits. */
const TOKEN = /^[\w-]{22,256}$/;
/** What `URL` would leave out, as line ends, is signed and stored as it stands: it is not taken. */
const URL_TEXT = /^[\x21-\x7e]{1,2048}$/;
const IDENTIFIER = /^[\x21-\x7e]{1,255}$/;

/** Reads the resources of one authority: its URLs are checked against that of the directory. */
export class ResourceReader {
  readonly #directoryUrl: string;

  constructor(directoryUrl: string) {
    this.#directoryUrl = directoryUrl;
  }

  directory(value: unknown): AcmeDirectory {
    const found = objectOf(value, 'the directory');
    const meta = isObject(found['meta']) ? found['meta'] : {};
    const profiles = isObject(meta['profiles']) ? Object.entries(meta['profiles']) : [];
    const optional = (name: string): string | undefined =>
      found[name] === undefined ? undefined : this.url(found[name], `"${name}" of the directory`);
    return {
      newNonce: this.url(found['newNonce'], '"newNonce" of the directory'),
      newAccount: this.url(found['newAccount'], '"newAccount" of the directory'),
      newOrder: this.url(found['newOrder'], '"newOrder" of the directory'),
      revokeCert: optional('revokeCert'),
      renewalInfo: optional('renewalInfo'),
      termsOfService: textOf(meta['termsOfService']),
      website: textOf(meta['website']),
      externalAccountRequired: meta['externalAccountRequired'] === true,
      issuerDomains: domainsIn(meta['caaIdentities']),
      profiles: new Map(profiles.slice(0, MOST_PROFILES).map(([name, text]) => [name, textOf(text) ?? ''])),
    };
  }

  order(value: unknown, url: string): AcmeOrder {
    const found = objectOf(value, 'the order');
    const { authorizations, identifiers, certificate } = found;
    if (!Array.isArray(authorizations) || authorizations.length > MOST_AUTHORIZATIONS)
      throw malformed('"authorizations" of the order is no list of URLs');
    return {
      url,
      status: memberOf(ORDER_STATUSES, found['status'], 'the order'),
      expiresMs: timeOf(found['expires']),
      identifiers: Array.isArray(identifiers) ? identifiers.map(identifierOf) : [],
      authorizations: authorizations.map((one: unknown) => this.url(one, '"authorizations" of the order')),
      finalize: this.url(found['finalize'], '"finalize" of the order'),
      certificate:
        certificate === undefined ? undefined : this.url(certificate, '"certificate" of the order'),
      error: problemFault(found['error']),
    };
  }

  authorization(value: unknown, url: string): AcmeAuthorization {
    const found = objectOf(value, 'the authorization');
    const { challenges } = found;
    if (!Array.isArray(challenges)) throw malformed('"challenges" of the authorization is no list');
    return {
      url,
      identifier: identifierOf(found['identifier']),
      isWildcard: found['wildcard'] === true,
      status: memberOf(AUTHORIZATION_STATUSES, found['status'], 'the authorization'),
      expiresMs: timeOf(found['expires']),
      challenges: challenges.slice(0, MOST_CHALLENGES).map((one) => this.challenge(one)),
    };
  }

  challenge(value: unknown): AcmeChallenge {
    const found = objectOf(value, 'the challenge');
    const { type, token, 'issuer-domain-names': issuers } = found;
    if (typeof type !== 'string') throw malformed('a challenge without a type');
    if (token !== undefined && !(typeof token === 'string' && TOKEN.test(token)))
      throw malformed(`the token of a challenge is not 22 to 256 characters of base64url`);
    return {
      type: shownText(type),
      url: this.url(found['url'], '"url" of the challenge'),
      token: token ?? '',
      status: memberOf(CHALLENGE_STATUSES, found['status'], 'the challenge'),
      error: problemFault(found['error']),
      ...(Array.isArray(issuers) && { issuerDomainNames: domainsIn(issuers) }),
    };
  }

  /** An absolute URL that gw may ask; `what` names it in the message. */
  url(value: unknown, what: string): string {
    const isText = typeof value === 'string' && URL_TEXT.test(value);
    const fault = isText ? namedUrlFault(value, this.#directoryUrl) : 'expected a URL';
    if (fault !== undefined) throw malformed(`${what}: ${fault}`);
    return String(value);
  }
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (!isObject(value)) throw malformed(`${what} is not a JSON object`);
  return value;
}

function memberOf<T extends string>(known: readonly T[], value: unknown, what: string): T {
  const found = known.find((one) => one === value);
  if (found === undefined)
    throw malformed(`${what} has the unknown status ${shownText(JSON.stringify(value) ?? 'none')}`);
  return found;
}

function identifierOf(value: unknown): AcmeIdentifier {
  const { type, value: name } = isObject(value) ? value : {};
  if ((type !== 'dns' && type !== 'ip') || typeof name !== 'string' || !IDENTIFIER.test(name))
    throw malformed('an identifier is neither a name nor an address');
  return { type, value: name.toLowerCase() };
}

function timeOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

/** Only what can stand in a record: letters, digits, hyphens and dots. */
function domainsIn(value: unknown): string[] {
  const listed: unknown[] = Array.isArray(value) ? value : [];
  return listed.filter((one) => typeof one === 'string').filter((one) => /^[\w.-]{1,253}$/.test(one));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? shownText(value) : undefined;
}
