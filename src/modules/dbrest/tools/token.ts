import {
  algorithmsOf,
  type Key,
  type KeySet,
  type KeySource,
  LEAST_SECRET_BYTES,
  readKeySource,
  shortestSecretBytes,
  signClaims,
  type SigningKey,
} from '../../../tokens/index.ts';
import { LocationTokens, openSecret } from '../auth/index.ts';
import { DbrestFault } from '../fault/index.ts';
import { isObject, parseJson } from '../../../json.ts';

/** The parameters of a new token. */
interface TokenOptions {
  readonly claims: Readonly<Record<string, unknown>>;
  /** A value of `dbrest_jwt_secret`: an HS256 secret, or a JWK or JWK set with private keys. */
  readonly secret: string;
  /** By default that of the key, or the first of its type. */
  readonly algorithm?: string | undefined;
  /** Selects a key of a set. */
  readonly keyId?: string | undefined;
}

/** The token and a possible warning, or a fault. */
type SignedToken = { readonly token: string; readonly warning?: string } | { readonly fault: string };

/** Signs a token that a location with the same secret accepts. */
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
    return { fault: `the key cannot be used with the algorithm "${chosen}"` };
  }
  const header = { alg: chosen, typ: 'JWT', ...(key.kid !== undefined && { kid: key.kid }) };
  try {
    const token = await signClaims(claims, key, header);
    if (shortestSecretBytes(source) >= LEAST_SECRET_BYTES) return { token };
    return {
      token,
      warning: `the secret is shorter than ${LEAST_SECRET_BYTES} bytes, so that it can be guessed`,
    };
  } catch (error) {
    return { fault: `the key cannot sign: ${(error as Error).message}` };
  }
}

function secretKey(secret: string, kid: string | undefined): SigningKey {
  return { kty: 'oct', k: Buffer.from(secret).toString('base64url'), ...(kid !== undefined && { kid }) };
}

/** The first key that can sign. */
function signingKey(json: unknown, keyId: string | undefined): SigningKey | undefined {
  const { keys } = json as { keys?: unknown };
  const given = Array.isArray(keys) ? keys : [json];
  return given
    .filter((key): key is SigningKey & { kty: string } => isObject(key))
    .find((key) => {
      const isPrivate = key.kty === 'oct' ? key.k !== undefined : key.d !== undefined;
      return isPrivate && (keyId === undefined || key.kid === keyId);
    });
}

/** The parts of a token, not verified. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The verdict of a location on a token. */
export interface TokenVerdict {
  readonly decoded?: DecodedToken;
  /** Absent if the token is accepted. */
  readonly refusal?: {
    /** Code and message of the response. */
    readonly code: string;
    readonly message: string;
    /** The reason in detail. */
    readonly reason: string;
  };
}

/** Decodes the header and claims of a token; `undefined` if it is malformed. */
export function decodeToken(token: string): DecodedToken | undefined {
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]*$/.test(part))) return undefined;
  const [header, claims] = parts.map((part) => parseJson(Buffer.from(part, 'base64url').toString()));
  return isObject(header) && isObject(claims) ? { header, claims } : undefined;
}

/** Checks a token as a location with this secret and audience does. Returns a `fault` if the secret is invalid. */
export function checkToken(
  token: string,
  { secret, audience, nowMs }: { secret: string; audience: string | undefined; nowMs: number },
): TokenVerdict | { readonly fault: string } {
  const source = readKeySource(secret);
  if ('fault' in source) return { fault: `the secret cannot be used: ${source.fault}` };
  const keys = keysOf(source);
  if ('fault' in keys) return keys;
  const decoded = decodeToken(token);
  const known = decoded && { decoded };
  try {
    new LocationTokens(() => keys, { audience }).accept(token, nowMs);
    return { ...known };
  } catch (error) {
    if (!(error instanceof DbrestFault)) throw error;
    const { code, message, details } = error;
    const reason = (decoded && reasonFor(decoded, { message, keys: keys.keys, nowMs, audience })) ?? details;
    return { ...known, refusal: { code, message, reason: typeof reason === 'string' ? reason : '' } };
  }
}

function keysOf(source: KeySource): KeySet | { readonly fault: string } {
  try {
    return openSecret(source);
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

/** The reason of a refusal in more detail than the response, which discloses no more than necessary. */
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
    return `it is signed with ${String(alg)}, but the secret is for ${possible.join(', ')}`;
  }
  if (kid === undefined || fitting.some((key) => key.anyKid || key.kid === kid)) {
    return 'its signature does not match: it was signed with another secret, or changed since';
  }
  const names = fitting.map((key) => (key.kid === undefined ? 'one without id' : `"${key.kid}"`));
  return `its key id ${JSON.stringify(kid)} is none of the keys for ${String(alg)}: ${names.join(', ')}`;
}

/** A time claim (seconds since the epoch) as text. */
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

/** A duration in the largest unit of which it has at least two. */
function spanText(ms: number): string {
  const [name, unitMs] = UNITS.find(([, size]) => ms >= 2 * size) ?? ['seconds', 1_000];
  return `${Math.round(ms / unitMs)} ${name}`;
}
