import type { DirectiveNode } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import { type CheckedModule, matchOf, type ModuleRule, type Problem } from '../../contract/index.ts';
import { type AuthJwtConfig, isOff, isOfNginz, protectionOf } from './directives.ts';

type Checked = CheckedModule<AuthJwtConfig>;

/** The blocks whose requests need a token; those that only pass their settings on to the blocks inside do not count. */
function* protectedBlocks(config: Checked): Iterable<BlockView> {
  for (const block of config.blocks('server', 'location')) {
    const protection = protectionOf(config.configIn(block));
    const serves = matchOf(block) !== undefined || block.inner.length === 0;
    if (protection && !isOff(protection) && serves) yield block;
  }
}

const KEYS = '{"keys":[{"kty":"oct","kid":"a","k":"rSyBPR8NrQQDDXpUiJKFHrvbx8Oe2iAbqv4KTJgN9XA"}]}';

const jwtWithoutKeys: ModuleRule<AuthJwtConfig> = {
  id: 'GW971',
  slug: 'jwt-without-keys',
  severity: 'error',
  summary: '"auth_jwt" without keys',
  why: 'No token can be verified: every request with one gets 500, and those without one get 401.',
  fix: 'Name the file with the keys of the issuer, a JWK set, in "auth_jwt_key_file", or their URL in "auth_jwt_key_request".',
  bad: { in: 'location', text: 'auth_jwt "api";' },
  good: {
    in: 'location',
    text: 'auth_jwt "api";\nauth_jwt_key_file keys.json;',
    files: { 'keys.json': KEYS },
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const block of protectedBlocks(config)) {
      const own = config.configIn(block);
      const { keyFiles, keyRequests, issuerNames } = own;
      if (isOfNginz(own) || (keyFiles ?? keyRequests ?? issuerNames)) continue;
      const [at] = config.nodesIn(block, 'protection');
      if (!at || told.has(at)) continue;
      told.add(at);
      yield {
        at,
        message: '"auth_jwt" has no keys here',
        hint: 'add "auth_jwt_key_file", "auth_jwt_key_request" or "auth_jwt_issuer"',
      };
    }
  },
};

const tokenInQuery: ModuleRule<AuthJwtConfig> = {
  id: 'GW972',
  slug: 'token-in-query',
  severity: 'warning',
  summary: 'a token that is part of the URL',
  why: 'URLs are kept in logs, histories of browsers and "Referer" headers, where others find the token.',
  fix: 'Let clients send "Authorization: Bearer", or a cookie.',
  bad: {
    in: 'location',
    text: 'auth_jwt "api" token=$arg_token;\nauth_jwt_key_file keys.json;',
    files: { 'keys.json': KEYS },
  },
  good: {
    in: 'location',
    text: 'auth_jwt "api" token=$cookie_token;\nauth_jwt_key_file keys.json;',
    files: { 'keys.json': KEYS },
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.uses('auth_jwt')) {
      const word = node.args.find(({ value }) =>
        /^token=\$\{?(?:arg_|args\b|query_string\b|request_uri\b)/i.test(value),
      );
      if (word)
        yield { at: word.span, message: `"${word.value}" takes the token from the URL, which logs keep` };
    }
  },
};

const CAPITAL = /\$\{?(jwt_(?:claim|header)_\w*[A-Z]\w*)/;

const jwtClaimCase: ModuleRule<AuthJwtConfig> = {
  id: 'GW973',
  slug: 'jwt-claim-case',
  severity: 'warning',
  summary: 'a claim with capital letters in the name of a variable',
  why: 'Names of variables have no case: "$jwt_claim_tenantId" is the claim "tenantid", and without such a claim it is empty.',
  fix: 'Give the claim a variable by "auth_jwt_claim_set $tenant tenantId" in "http".',
  bad: { in: 'location', text: 'return 200 $jwt_claim_tenantId;' },
  good: {
    in: 'http',
    text: 'auth_jwt_claim_set $tenant tenantId;\nserver { location / { return 200 $tenant; } }',
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks()) {
      for (const node of block.own()) {
        const word = node.args.find(({ value }) => CAPITAL.test(value));
        const [, name] = CAPITAL.exec(word?.value ?? '') ?? [];
        if (word)
          yield {
            at: word.span,
            message: `"$${name}" is the claim "${nameOf(name as string)}": variables have no case`,
          };
      }
    }
  },
};

function nameOf(variable: string): string {
  return variable.replace(/^jwt_(?:claim|header)_/, '').toLowerCase();
}

const signatureOff: ModuleRule<AuthJwtConfig> = {
  id: 'GW979',
  slug: 'jwt-signature-off',
  severity: 'error',
  summary: '"jwt_validate_sig off" where clients can ask',
  why: 'Signatures are not verified: anybody can make a token with any claims, and enters.',
  fix: 'Remove "jwt_validate_sig off", or make the location "internal".',
  bad: {
    in: 'location',
    text: 'jwt_key_file keys.json jwks;\njwt_validate_sig off;',
    files: { 'keys.json': KEYS },
  },
  good: {
    in: 'location',
    text: 'internal;\njwt_key_file keys.json jwks;\njwt_validate_sig off;',
    files: { 'keys.json': KEYS },
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const block of protectedBlocks(config)) {
      if (config.configIn(block).checksSignature !== false || isInternal(block)) continue;
      const [at] = config.nodesIn(block, 'checksSignature');
      if (!at || told.has(at)) continue;
      told.add(at);
      yield { at, message: 'signatures are not verified here: anybody can make tokens' };
    }
  },
};

const DEMANDS = ['scopes', 'audiences', 'requirements', 'issuerNames'] as const;

const demandsWithoutToken: ModuleRule<AuthJwtConfig> = {
  id: 'GW985',
  slug: 'jwt-demands-without-jwt',
  severity: 'warning',
  summary: 'what tokens must be, where none is required',
  why: 'Without "auth_jwt" the other directives do nothing: the location serves everybody.',
  fix: 'Add "auth_jwt" with a realm, or "auth_jwt off" where the location is meant to be open.',
  bad: {
    in: 'location',
    text: 'auth_jwt_key_file keys.json;\nauth_jwt_scope read;',
    files: { 'keys.json': KEYS },
  },
  good: {
    in: 'location',
    text: 'auth_jwt api;\nauth_jwt_key_file keys.json;\nauth_jwt_scope read;',
    files: { 'keys.json': KEYS },
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const block of config.blocks('server', 'location')) {
      const serves = matchOf(block) !== undefined || block.inner.length === 0;
      const own = config.configIn(block);
      if (!serves || own.protection || isOfNginz(own)) continue;
      for (const field of DEMANDS) {
        const [at] = config.nodesIn(block, field);
        if (!at || told.has(at) || at.name.value.startsWith('jwt_')) continue;
        told.add(at);
        yield { at, message: `"${at.name.value}" does nothing in a location without "auth_jwt"` };
      }
    }
  },
};

const bindingOff: ModuleRule<AuthJwtConfig> = {
  id: 'GW977',
  slug: 'jwt-binding-off',
  severity: 'warning',
  summary: 'tokens that are bound to a certificate, and taken without it',
  why: 'An issuer binds a token to a client certificate so that a stolen token is worth nothing. With "off" it counts from anybody.',
  fix: 'Remove "auth_jwt_bound off". Behind a proxy that ends TLS, name the certificate that it forwards in "auth_jwt_client_certificate".',
  bad: {
    in: 'location',
    text: 'auth_jwt api;\nauth_jwt_key_file keys.json;\nauth_jwt_bound off;',
    files: { 'keys.json': KEYS },
  },
  good: {
    in: 'location',
    text: 'auth_jwt api;\nauth_jwt_key_file keys.json;\nauth_jwt_bound auto;',
    files: { 'keys.json': KEYS },
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.uses('auth_jwt_bound'))
      if (node.args[0]?.value === 'off')
        yield { at: node, message: 'tokens that are bound to a client certificate count without it' };
  },
};

const unsignedClaims: ModuleRule<AuthJwtConfig> = {
  id: 'GW978',
  slug: 'jwt-unsigned-claims',
  severity: 'warning',
  summary: 'encrypted claims that nobody has signed',
  why: 'With an RSA key, whoever has the public key can encrypt a token with any claims: it says nothing about who made it.',
  fix: 'Use "auth_jwt_type nested", or secrets ("oct") that only the issuer has.',
  bad: {
    in: 'location',
    text: 'auth_jwt api;\nauth_jwt_key_file keys.json;\nauth_jwt_type encrypted;',
    files: { 'keys.json': KEYS },
  },
  good: {
    in: 'location',
    text: 'auth_jwt api;\nauth_jwt_key_file keys.json;\nauth_jwt_type nested;',
    files: { 'keys.json': KEYS },
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.uses('auth_jwt_type'))
      if (node.args[0]?.value === 'encrypted')
        yield {
          at: node,
          message: 'the claims are encrypted and not signed: with RSA keys anybody can make them',
        };
  },
};

function isInternal(block: BlockView): boolean {
  return block.own().some(({ name }) => name.value === 'internal');
}

/** The rules about tokens. */
export const rules: readonly ModuleRule<AuthJwtConfig>[] = [
  jwtWithoutKeys,
  tokenInQuery,
  jwtClaimCase,
  signatureOff,
  bindingOff,
  demandsWithoutToken,
  unsignedClaims,
];
