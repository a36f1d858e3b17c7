import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { AcmeIdentifier, AcmeKeyKind } from '../plan.ts';

const generate = promisify(generateKeyPair);

const CURVES: Readonly<Record<string, string>> = { 256: 'P-256', 384: 'P-384', 521: 'P-521' };

/** Makes a private key. */
export async function makeKey(kind: AcmeKeyKind): Promise<KeyObject> {
  const [type, size = ''] = kind.split(':');
  const { privateKey } =
    type === 'rsa'
      ? await generate('rsa', { modulusLength: Number(size) })
      : await generate('ec', { namedCurve: CURVES[size] ?? '' });
  return privateKey;
}

/** The longest common name (RFC 5280, A.1: ub-common-name). */
const MOST_COMMON_NAME = 64;

/**
 * Makes the request for a certificate in DER. With `commonName` the subject has the first host name that fits in
 * (`common_name_in_csr`); otherwise it is empty, and the names are only in `subjectAltName`.
 */
export async function makeRequest(
  identifiers: readonly AcmeIdentifier[],
  key: KeyObject,
  { commonName = false }: { readonly commonName?: boolean } = {},
): Promise<Buffer> {
  const { encodeSigningRequest } = await import('../../x509/index.ts');
  const fitting = identifiers.find(({ type, value }) => type === 'dns' && value.length <= MOST_COMMON_NAME);
  return encodeSigningRequest({
    names: identifiers,
    key,
    ...(commonName && fitting && { commonName: fitting.value }),
  });
}
