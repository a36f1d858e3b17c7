import { serverOf } from '../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../contract/index.ts';
import type { AuthOidcConfig } from './directives.ts';

type Checked = CheckedModule<AuthOidcConfig>;

const provider = (name: string, more = ''): string =>
  `oidc_provider ${name} { issuer https://${name}.example; client_id gateway;${more} }`;

const SITE = 'server { listen 127.0.0.1:8080; location / { auth_oidc idp; } }';

const TWO = `server {
    listen 127.0.0.1:8080;
    location /a { auth_oidc one; }
    location /b { auth_oidc two; }
}`;

const oneSessionCookie: ModuleRule<AuthOidcConfig> = {
  id: 'GW981',
  slug: 'one-session-cookie',
  severity: 'warning',
  summary: 'two providers of a server have session cookies of one name',
  why: 'A browser keeps one of them: a login at one provider ends the session of the other, and both logins take turns.',
  fix: 'Give one of the providers a "cookie_name" of its own.',
  bad: { in: 'http', text: `${provider('one')}\n${provider('two')}\n${TWO}` },
  good: { in: 'http', text: `${provider('one')}\n${provider('two', ' cookie_name two;')}\n${TWO}` },
  *check(config: Checked): Iterable<Problem> {
    const seen = new Map<unknown, Map<string, string>>();
    for (const { node, block } of config.uses('auth_oidc')) {
      const server = serverOf(block);
      const name = node.args[0]?.value;
      const used = config.configIn(block).providers?.find((one) => one.name === name);
      if (!used || !server) continue;
      const ofServer = seen.get(server.node) ?? new Map<string, string>();
      seen.set(server.node, ofServer);
      const other = ofServer.get(used.cookieName);
      if (other === undefined) ofServer.set(used.cookieName, used.name);
      else if (other !== used.name)
        yield {
          at: node,
          message: `"${used.name}" and "${other}" have the same session cookie`,
          hint: `add "cookie_name" to one of them; both are "${used.cookieName}" now`,
        };
    }
  },
};

const CAPITAL = /\$\{?oidc_claim_(\w*[A-Z]\w*)/;

const oidcClaimCase: ModuleRule<AuthOidcConfig> = {
  id: 'GW982',
  slug: 'oidc-claim-case',
  severity: 'warning',
  summary: 'a claim with capital letters in the name of a variable',
  why: 'Names of variables have no case: "$oidc_claim_tenantId" is the claim "tenantid", and without such a claim it is empty.',
  fix: 'Write "auth_jwt off token=$oidc_id_token" beside "auth_oidc", and "auth_jwt_claim_set $tenant tenantId" in "http".',
  bad: { in: 'location', text: 'return 200 $oidc_claim_tenantId;' },
  good: {
    in: 'http',
    text: `auth_jwt_claim_set $tenant tenantId;
server { location / { auth_jwt off token=$oidc_id_token; return 200 $tenant; } }`,
  },
  *check(config: Checked): Iterable<Problem> {
    for (const block of config.blocks()) {
      for (const node of block.own()) {
        const word = node.args.find(({ value }) => CAPITAL.test(value));
        const [, name = ''] = CAPITAL.exec(word?.value ?? '') ?? [];
        if (word)
          yield {
            at: word.span,
            message: `"$oidc_claim_${name}" is the claim "${name.toLowerCase()}": variables have no case`,
          };
      }
    }
  },
};

const live = (what: string): string =>
  `oidc_provider idp { issuer https://idp.example; client_id gateway; } # ${what}
server { listen 127.0.0.1:8080; location / { auth_oidc idp; } }`;

const providerUnreachable: ModuleRule<AuthOidcConfig> = {
  id: 'GW983',
  slug: 'provider-unreachable',
  severity: 'error',
  live: true,
  summary: 'an OpenID Provider where nobody can log in',
  why: 'Its metadata or its keys cannot be fetched, or do not fit: clients without a session get 503.',
  fix: 'Check that "issuer" is exactly what the metadata say, that gw reaches the provider, and that "ssl_trusted_certificate" has its authority.',
  bad: { in: 'http', text: live('no response') },
  good: { in: 'http', text: live('its metadata have this issuer') },
};

/** Shorter ones can be guessed: secrets of providers have 32 characters or more. */
const SHORTEST_SECRET = 16;

const weakClientSecret: ModuleRule<AuthOidcConfig> = {
  id: 'GW987',
  slug: 'weak-client-secret',
  severity: 'warning',
  summary: 'a client secret that can be guessed',
  why: 'The cookies of logins are encrypted with a key made of it, and everybody gets such a cookie: who has one can try secrets offline, as many as he likes. The right one lets him forge logins, and ask the provider in the name of the gateway.',
  fix: 'Have the provider make a random secret of at least 16 characters.',
  bad: { in: 'http', text: provider('one', ' client_secret ${env:GW_NO_SUCH_SECRET:-hunter2};') },
  good: {
    in: 'http',
    text: provider('one', ' client_secret ${file:secret};'),
    files: { secret: 'Zm9yIGV4YW1wbGVzIG9ubHkh' },
  },
  *check(config: Checked): Iterable<Problem> {
    for (const { node, block } of config.uses('client_secret')) {
      const [secret] = node.args;
      if (block.context !== 'oidc_provider' || !secret || secret.value.length >= SHORTEST_SECRET) continue;
      yield {
        at: node,
        message: `"client_secret" has fewer than ${SHORTEST_SECRET} characters`,
      };
    }
  },
};

const writableSessions: ModuleRule<AuthOidcConfig> = {
  id: 'GW988',
  slug: 'writable-sessions',
  severity: 'warning',
  summary: 'sessions in a zone that an API can write to',
  why: 'Whoever may use the API of a "keyval_zone" can write a session for any user.',
  fix: 'Name a "shared_dict_zone" in "session_store", or none: each provider then has a store of its own.',
  bad: {
    in: 'http',
    text: `keyval_zone zone=sessions:1m;\n${provider('idp', ' session_store sessions;')}\n${SITE}`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=sessions:1m evict;\n${provider('idp', ' session_store sessions;')}\n${SITE}`,
  },
  *check(config): Iterable<Problem> {
    const zones = config.uses('keyval_zone').flatMap(({ node }) => node.args.map(({ value }) => value));
    for (const { node } of config.uses('session_store')) {
      const [name] = node.args;
      if (name && zones.some((zone) => zone.startsWith(`zone=${name.value}:`)))
        yield { at: name.span, message: `whoever may use the API of "${name.value}" can write sessions` };
    }
  },
};

/** The rules about logins. */
export const rules: readonly ModuleRule<AuthOidcConfig>[] = [
  oneSessionCookie,
  oidcClaimCase,
  providerUnreachable,
  weakClientSecret,
  writableSessions,
];
