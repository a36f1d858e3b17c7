import type { JWK } from 'jose';
import {
  algorithmsOf,
  checkClaims,
  type Key,
  type KeySource,
  LEAST_SECRET_BYTES,
  openKeys,
  readKeySource,
  shortestSecretBytes,
  TokenVerifier,
} from '../auth/index.ts';
import { DbrestFault } from '../fault/index.ts';
import { isObject, parseJson } from '../json.ts';

/** A token that is to be made. */
interface TokenOptions {
  readonly claims: Readonly<Record<string, unknown>>;
  /** As `dbrest_jwt_secret` takes it: an HS256 secret, a JWK or a JWK set, with the private part of the key. */
  readonly secret: string;
  /** Absent: what the key says, else the usual one of its type. */
  readonly algorithm?: string | undefined;
  /** Picks a key of a set. */
  readonly keyId?: string | undefined;
}

/** The token, and what is to be said of its key; or why there is none. */
type SignedToken = { readonly token: string; readonly warning?: string } | { readonly fault: string };

/** Signs a token that a location with the same secret takes. */
export async function signToken({ claims, secret, algorithm, keyId }: TokenOptions): Promise<SignedToken> {
  const source = readKeySource(secret);
  if ('fault' in source) return { fault: `the secret cannot be used: ${source.fault}` };
  const key = source.kind === 'secret' ? secretKey(secret, keyId) : signingKey(JSON.parse(secret), keyId);
  if (!key)
    return { fault: `no key ${keyId === undefined ? '' : `"${keyId}" `}that can sign is among the keys` };
  const { kty = '', crv } = key;
  const possible =
    source.kind === 'secret' ? ['HS256'] : algorithmsOf({ kty, ...(crv !== undefined && { crv }) });
  const chosen = algorithm ?? key.alg ?? possible[0];
  if (chosen === undefined || !possible.includes(chosen) || (key.alg ?? chosen) !== chosen) {
    return { fault: `the key does not go with the algorithm "${chosen}"` };
  }
  const header = { alg: chosen, typ: 'JWT', ...(key.kid !== undefined && { kid: key.kid }) };
  const { CompactSign, importJWK } = await import('jose');
  try {
    const payload = new TextEncoder().encode(JSON.stringify(claims));
    const token = await new CompactSign(payload)
      .setProtectedHeader(header)
      .sign(await importJWK(key, chosen));
    if (shortestSecretBytes(source) >= LEAST_SECRET_BYTES) return { token };
    return {
      token,
      warning: `the secret is shorter than ${LEAST_SECRET_BYTES} bytes, so that it can be guessed`,
    };
  } catch (error) {
    return { fault: `the key cannot sign: ${(error as Error).message}` };
  }
}

function secretKey(secret: string, kid: string | undefined): JWK {
  return { kty: 'oct', k: Buffer.from(secret).toString('base64url'), ...(kid !== undefined && { kid }) };
}

/** The first key, of a set perhaps, that has what signing takes. */
function signingKey(json: unknown, keyId: string | undefined): JWK | undefined {
  const { keys } = json as { keys?: unknown };
  const given = Array.isArray(keys) ? keys : [json];
  return given
    .filter((key): key is JWK & { kty: string } => isObject(key))
    .find((key) => {
      const isPrivate = key.kty === 'oct' ? key.k !== undefined : key.d !== undefined;
      return isPrivate && (keyId === undefined || key.kid === keyId);
    });
}

/** A token taken apart; nobody has vouched for it. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What a location would say of a token. */
export interface TokenVerdict {
  readonly decoded?: DecodedToken;
  /** Absent: it takes the token. */
  readonly refusal?: {
    /** Code and message of the answer to the request. */
    readonly code: string;
    readonly message: string;
    /** What is wrong with this token, in detail. */
    readonly reason: string;
  };
}

/** The two texts of a token as JSON; `undefined` when it is none. */
export function decodeToken(token: string): DecodedToken | undefined {
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]*$/.test(part))) return undefined;
  const [header, claims] = parts.map((part) => parseJson(Buffer.from(part, 'base64url').toString()));
  return isObject(header) && isObject(claims) ? { header, claims } : undefined;
}

const COUNTER = { add: () => undefined };
const UNCOUNTED = { requests: COUNTER, hits: COUNTER, evictions: COUNTER };

/**
 * Checks a token as a location does that has this secret and audience. Gives `fault` when the secret is none that a location
 * would take.
 */
export async function checkToken(
  token: string,
  { secret, audience, nowMs }: { secret: string; audience: string | undefined; nowMs: number },
): Promise<TokenVerdict | { readonly fault: string }> {
  const source = readKeySource(secret);
  if ('fault' in source) return { fault: `the secret cannot be used: ${source.fault}` };
  const keys = keysOf(source);
  if ('fault' in keys) return keys;
  const decoded = decodeToken(token);
  const known = decoded && { decoded };
  try {
    const claims = await new TokenVerifier(await import('jose'), keys, UNCOUNTED).verify(token);
    checkClaims(claims, nowMs, audience);
    return { ...known };
  } catch (error) {
    if (!(error instanceof DbrestFault)) throw error;
    const { code, message, details } = error;
    const reason = (decoded && reasonFor(decoded, { message, keys, nowMs, audience })) ?? details;
    return { ...known, refusal: { code, message, reason: typeof reason === 'string' ? reason : '' } };
  }
}

function keysOf(source: KeySource): readonly Key[] | { readonly fault: string } {
  try {
    return openKeys(source);
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

interface RefusalContext {
  readonly message: string;
  readonly keys: readonly Key[];
  readonly nowMs: number;
  readonly audience: string | undefined;
}

/** What the answer to a client leaves out, for it tells strangers no more than they need. */
function reasonFor(
  { header, claims }: DecodedToken,
  { message, keys, nowMs, audience }: RefusalContext,
): string | undefined {
  switch (message) {
    case 'No suitable key or wrong key type':
      return keyReason(header, keys);
    case 'JWT expired':
      return `it expired ${momentText(claims['exp'], nowMs)}`;
    case 'JWT not yet valid':
      return `it is valid from ${momentText(claims['nbf'], nowMs)}`;
    case 'JWT issued at future':
      return `it says that it was issued ${momentText(claims['iat'], nowMs)}`;
    case 'JWT not in audience':
      return `it is meant for ${JSON.stringify(claims['aud'])}, and not for "${audience}"`;
    default:
      return undefined;
  }
}

function keyReason({ alg, kid }: DecodedToken['header'], keys: readonly Key[]): string {
  const fitting = keys.filter((key) => key.algorithms.has(String(alg)));
  if (fitting.length === 0) {
    const possible = [...new Set(keys.flatMap((key) => [...key.algorithms]))];
    return `it is signed with ${String(alg)}, and the secret goes with ${possible.join(', ')}`;
  }
  if (kid === undefined || fitting.some((key) => key.anyKid || key.kid === kid)) {
    return 'its signature does not match: it was signed with another secret, or changed since';
  }
  const names = fitting.map((key) => (key.kid === undefined ? 'one without id' : `"${key.kid}"`));
  return `its key id ${JSON.stringify(kid)} is none of the keys for ${String(alg)}: ${names.join(', ')}`;
}

/** Of a claim: seconds since the epoch. */
function momentText(seconds: unknown, nowMs: number): string {
  const atMs = Number(seconds) * 1000;
  const at = Number.isNaN(new Date(atMs).getTime()) ? String(seconds) : new Date(atMs).toISOString();
  return `at ${at}, ${spanText(Math.abs(nowMs - atMs))} ${atMs < nowMs ? 'ago' : 'from now'}`;
}

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1_000],
] as const;

/** In the largest unit of which there are two. */
function spanText(ms: number): string {
  const [name, unitMs] = UNITS.find(([, size]) => ms >= 2 * size) ?? ['seconds', 1_000];
  return `${Math.round(ms / unitMs)} ${name}`;
}
