import type { JWK } from 'jose';
import { algorithmsOf, LEAST_SECRET_BYTES, readKeySource, shortestSecretBytes } from '../auth/index.ts';
import { isObject } from '../json.ts';

/** A token that is to be made. */
export interface TokenOrder {
  readonly claims: Readonly<Record<string, unknown>>;
  /** As `dbrest_jwt_secret` takes it: an HS256 secret, a JWK or a JWK set, with the private part of the key. */
  readonly secret: string;
  /** Absent: what the key says, else the usual one of its type. */
  readonly algorithm?: string | undefined;
  /** Picks a key of a set. */
  readonly keyId?: string | undefined;
}

/** The token, and what is to be said of its key; or why there is none. */
export type SignedToken = { readonly token: string; readonly warning?: string } | { readonly fault: string };

/** Signs a token that a location with the same secret takes. */
export async function signToken({ claims, secret, algorithm, keyId }: TokenOrder): Promise<SignedToken> {
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
