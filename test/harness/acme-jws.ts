import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  verify,
} from 'node:crypto';

/** A problem document (RFC 8555, 6.7) to be sent as the response. */
export class Problem extends Error {
  readonly status: number;
  readonly kind: string;
  headers: Readonly<Record<string, string>> = {};
  subproblems: readonly unknown[] | undefined;

  constructor(status: number, kind: string, detail = kind) {
    super(detail);
    this.status = status;
    this.kind = kind;
  }

  document(): Record<string, unknown> {
    return {
      type: `urn:ietf:params:acme:error:${this.kind}`,
      detail: this.message,
      status: this.status,
      ...(this.subproblems && { subproblems: this.subproblems }),
    };
  }
}

/** The parts of a signed request. */
export interface Jws {
  readonly header: Readonly<Record<string, unknown>> & { readonly alg: string };
  /** Empty for POST-as-GET. */
  readonly payload: string;
  readonly signed: string;
  readonly signature: Buffer;
}

/** Reads the flattened form (RFC 7515, 7.2.2), strictly as RFC 8555, 6.2 has it. */
export function readJws(text: string): Jws {
  let parts: Record<string, unknown>;
  try {
    parts = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Problem(400, 'malformed', 'the body is not JSON');
  }
  const { protected: head, payload, signature } = parts;
  const others = Object.keys(parts).filter((name) => !['protected', 'payload', 'signature'].includes(name));
  if (
    ![head, payload, signature].every((part) => typeof part === 'string' && /^[\w-]*$/.test(part)) ||
    others.length > 0
  )
    throw new Problem(400, 'malformed', 'the body is no flattened JWS');
  const header = JSON.parse(Buffer.from(String(head), 'base64url').toString()) as Jws['header'];
  return {
    header,
    payload: Buffer.from(String(payload), 'base64url').toString(),
    signed: `${String(head)}.${String(payload)}`,
    signature: Buffer.from(String(signature), 'base64url'),
  };
}

const HASHES: Readonly<Record<string, string>> = {
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
  RS256: 'sha256',
};

/** Verifies the signature of a request. */
export function verifyJws({ header: { alg }, signed, signature }: Jws, key: KeyObject): void {
  const hash = HASHES[alg];
  if (hash === undefined) throw new Problem(400, 'badSignatureAlgorithm', `no signatures with "${alg}"`);
  const how =
    alg === 'RS256' ? { padding: constants.RSA_PKCS1_PADDING } : { dsaEncoding: 'ieee-p1363' as const };
  if (!verify(hash, Buffer.from(signed), { key, ...how }, signature))
    throw new Problem(400, 'malformed', 'the signature is wrong');
}

/** The public key of a JWK, which must not have private members. */
export function keyOfJwk(jwk: unknown): KeyObject {
  if (typeof jwk !== 'object' || jwk === null || 'd' in jwk) throw new Problem(400, 'badPublicKey');
  return createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
}

/** RFC 7638. */
export function thumbprintOf(key: KeyObject): string {
  const { kty, n, e, crv, x, y } = key.export({ format: 'jwk' });
  const members = kty === 'RSA' ? { e, kty, n } : { crv, kty, x, y };
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}

/** Checks the binding of an account to an external one (RFC 8555, 7.3.4). */
export function verifyBinding(
  binding: unknown,
  { url, key, secrets }: { url: string; key: KeyObject; secrets: Readonly<Record<string, string>> },
): void {
  if (binding === undefined) throw new Problem(403, 'externalAccountRequired');
  const { header, payload, signed, signature } = readJws(JSON.stringify(binding));
  const secret = secrets[String(header['kid'])];
  if (secret === undefined || header.alg !== 'HS256' || header['url'] !== url || 'nonce' in header)
    throw new Problem(403, 'unauthorized', 'unknown external account');
  const expected = createHmac('sha256', Buffer.from(secret, 'base64url')).update(signed).digest();
  if (!expected.equals(signature) || thumbprintOf(keyOfJwk(JSON.parse(payload))) !== thumbprintOf(key))
    throw new Problem(403, 'unauthorized', 'the external account is not bound to this key');
}
