import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../../contract/index.ts';
import { type KeySource, LEAST_SECRET_BYTES } from '../../../tokens/index.ts';
import type { DbrestConfig } from '../directives/index.ts';

/** A JSON Web Key. */
type Jwk = Extract<KeySource, { readonly kind: 'keys' }>['keys'][number];

/** The keys of each `dbrest_jwt_secret`, with the directive. */
function tokenKeys(
  config: CheckedModule<DbrestConfig>,
): readonly { readonly node: DirectiveNode; readonly keys: KeySource }[] {
  return config.uses('dbrest_jwt_secret').flatMap(({ node, block }) => {
    const keys = config.configIn(block).jwtKeys;
    return keys && keys.kind !== 'url' ? [{ node, keys }] : [];
  });
}

/** The HMAC secrets among the keys. */
function hmacSecrets(keys: KeySource): readonly Buffer[] {
  if (keys.kind === 'secret') return [Buffer.from(keys.secret)];
  return keys.keys.flatMap(({ k }) => (k === undefined ? [] : [Buffer.from(k, 'base64url')]));
}

/** Secrets from tutorials and templates, which attackers try first. */
const EXAMPLE_SECRETS: ReadonlySet<string> = new Set([
  // jwt.io
  'your-256-bit-secret',
  'your-384-bit-secret',
  'your-512-bit-secret',
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
  // PostgREST's tutorial and its tests
  'reallyreallyreallyreallyverysafe',
  'safe-secret-that-is-at-least-32-characters-long',
  // Supabase's command line and its files for Docker
  'super-secret-jwt-token-with-at-least-32-characters-long',
  'your-super-secret-jwt-token-with-at-least-32-characters-long',
  'secret',
  'jwt-secret',
  'jwtsecret',
  'mysecret',
  'supersecret',
  'changeme',
  'password',
  'test',
]);

/** Placeholders for a secret in templates. */
const PLACEHOLDER =
  /change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|it|with)|your[-_ ].*(?:secret|key|token)|at[-_ ]least[-_ ]\d+|placeholder/i;

/** Returns whether a secret is an example, a placeholder, or a repeated text. */
function isExampleSecret(secret: Buffer): boolean {
  const text = secret.toString();
  return EXAMPLE_SECRETS.has(text.toLowerCase()) || PLACEHOLDER.test(text) || /^(.{1,16}?)\1+$/s.test(text);
}

const dbrestSecretShort: ModuleRule<DbrestConfig> = {
  id: 'GW604',
  slug: 'dbrest-secret-short',
  severity: 'error',
  summary: 'a secret for tokens that can be guessed',
  why: 'Anyone who has a token can try secrets offline, millions per second, until one fits, and then sign tokens for any role.',
  fix: 'Use at least 32 random bytes: "gw secret" prints a secret.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'Vq3xT8nZpLk' },
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'Vq3xT8nZpLkWm7RcYd2JsHf6BgQe9UtA' },
  },
  *check(config): Iterable<Problem> {
    for (const { node, keys } of tokenKeys(config)) {
      const secrets = hmacSecrets(keys).filter((secret) => !isExampleSecret(secret));
      const bytes = Math.min(...secrets.map(({ length }) => length));
      if (bytes >= LEAST_SECRET_BYTES) continue;
      yield {
        at: node,
        message: `"dbrest_jwt_secret" has ${bytes} bytes, but HS256 needs at least ${LEAST_SECRET_BYTES}`,
        hint: '"gw secret" prints one',
      };
    }
  },
};

const dbrestSecretExample: ModuleRule<DbrestConfig> = {
  id: 'GW605',
  slug: 'dbrest-secret-example',
  severity: 'error',
  summary: 'a secret for tokens from a tutorial, or a placeholder',
  why: 'It is public, so anyone can sign tokens for any role.',
  fix: 'Use at least 32 random bytes: "gw secret" prints a secret.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'reallyreallyreallyreallyverysafe' },
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'Vq3xT8nZpLkWm7RcYd2JsHf6BgQe9UtA' },
  },
  *check(config): Iterable<Problem> {
    for (const { node, keys } of tokenKeys(config)) {
      if (!hmacSecrets(keys).some(isExampleSecret)) continue;
      yield {
        at: node,
        message: 'the secret of "dbrest_jwt_secret" is a known example',
        hint: '"gw secret" prints a new one',
      };
    }
  },
};

/** The algorithms of each key type (RFC 7518, RFC 8037). */
const ALGORITHMS: Readonly<Record<string, RegExp>> = {
  oct: /^HS(?:256|384|512)$/,
  RSA: /^[RP]S(?:256|384|512)$/,
  EC: /^ES(?:256|384|512)$/,
  OKP: /^(?:EdDSA|Ed25519)$/,
};

const dbrestAlgNone: ModuleRule<DbrestConfig> = {
  id: 'GW606',
  slug: 'dbrest-alg-none',
  severity: 'error',
  summary: 'a key for tokens with an unsafe algorithm: "none", or HMAC with a public key',
  why: 'Anyone can create a token without a signature, or sign one with a public key.',
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
  *check(config): Iterable<Problem> {
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

/** Returns whether a secret is a PEM public key or certificate, as text or in base64. */
function isPublicKey(secret: Buffer): boolean {
  const text = secret.toString();
  return [text, Buffer.from(text, 'base64').toString()].some((pem) =>
    /-----BEGIN (?:[A-Z]+ )?(?:PUBLIC KEY|CERTIFICATE)-----/.test(pem),
  );
}

/** Rules about the keys of tokens. */
export const TOKEN_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestSecretShort,
  dbrestSecretExample,
  dbrestAlgNone,
];
