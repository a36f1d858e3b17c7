import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { hmacSecrets } from './secrets.ts';
import { tokenKeys } from './settings.ts';
import type { Jwk } from './settings.ts';

/** Which algorithms go with a type of key (RFC 7518, RFC 8037). */
const ALGORITHMS: Readonly<Record<string, RegExp>> = {
  oct: /^HS(?:256|384|512)$/,
  RSA: /^[RP]S(?:256|384|512)$/,
  EC: /^ES(?:256|384|512)$/,
  OKP: /^(?:EdDSA|Ed25519)$/,
};

export const dbrestAlgNone: Rule = {
  id: 'GW606',
  slug: 'dbrest-alg-none',
  severity: 'error',
  summary: 'a key for tokens whose algorithm proves nothing: "none", or HMAC with a public key',
  why: 'A token without a signature, or one signed with what everybody may know, can be written by everybody.',
  fix: 'Give each key the algorithm of its type: HS256 for "oct", RS256 for "RSA", ES256 for "EC", EdDSA for "OKP".',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwk.json}; }',
    files: {
      'jwk.json':
        '{"kty":"RSA","alg":"HS256","n":"u1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0_IzW7yWR7QkrmBL7jTKEn5u","e":"AQAB"}',
    },
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwk.json}; }',
    files: {
      'jwk.json':
        '{"kty":"RSA","alg":"RS256","n":"u1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0_IzW7yWR7QkrmBL7jTKEn5u","e":"AQAB"}',
    },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, keys } of tokenKeys(config)) {
      const wrong = keys.kind === 'keys' ? keys.keys.filter(isMixed) : [];
      for (const { kty, alg } of wrong)
        yield { at: node, message: `a key of type "${kty}" cannot be used with the algorithm "${alg}"` };
      if (hmacSecrets(keys).some(isPublicKey))
        yield { at: node, message: '"dbrest_jwt_secret" uses a public key as the secret of HMAC' };
    }
  },
};

function isMixed({ kty, alg }: Jwk): boolean {
  return alg !== undefined && ALGORITHMS[kty]?.test(alg) !== true;
}

/** As text, or once more in base64. */
function isPublicKey(secret: Buffer): boolean {
  const text = secret.toString();
  return [text, Buffer.from(text, 'base64').toString()].some((pem) =>
    /-----BEGIN (?:[A-Z]+ )?(?:PUBLIC KEY|CERTIFICATE)-----/.test(pem),
  );
}
