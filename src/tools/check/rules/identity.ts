import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../../contract/index.ts';
import { analysisOf } from '../analysis.ts';
import type { Machine } from '../regex/index.ts';

/** Variables that tell who makes a request, besides those of `auth_request_set`. */
const IDENTITY = /\$\{?(?:jwt_|oidc_|api_key_|ssl_client_)/i;
/** Directives that define variables of this kind. */
const DEFINING = ['auth_request_set', 'auth_jwt_claim_set', 'auth_jwt_header_set', 'jwt_claim', 'jwt_header'];
/** What forwards requests, and what sets their headers. */
const FORWARDING = { proxy_pass: 'proxy_set_header', grpc_pass: 'grpc_set_header' } as const;
type Pass = keyof typeof FORWARDING;
const PASSES = Object.keys(FORWARDING) as readonly Pass[];

const identityHeaderForgeable: Rule = {
  id: 'GW974',
  slug: 'identity-header-forgeable',
  severity: 'warning',
  summary: 'a header that tells an upstream who asks comes from the client elsewhere',
  why: 'One location sets the header from a token, a key or a certificate, and the upstream trusts it. Another one forwards it to the same upstream as the client sent it: there anybody can be anyone.',
  fix: 'Add "identity_headers" with the name of the header in "http" or "server": what clients send under it is then removed everywhere.',
  bad: {
    in: 'http',
    text: `upstream app { server 127.0.0.1:3000; }
server {
  listen 127.0.0.1:8080;
  location /api/ { auth_request /who; auth_request_set $user $upstream_http_x_user; proxy_set_header X-User $user; proxy_set_header Host $host; proxy_pass http://app; }
  location /public/ { proxy_set_header Host $host; proxy_pass http://app; }
  location = /who { internal; proxy_pass http://127.0.0.1:3001; }
}`,
  },
  good: {
    in: 'http',
    text: `identity_headers X-User;
upstream app { server 127.0.0.1:3000; }
server {
  listen 127.0.0.1:8080;
  location /api/ { auth_request /who; auth_request_set $user $upstream_http_x_user; proxy_set_header X-User $user; proxy_set_header Host $host; proxy_pass http://app; }
  location /public/ { proxy_set_header Host $host; proxy_pass http://app; }
  location = /who { internal; proxy_pass http://127.0.0.1:3001; }
}`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const uses = config.uses(...PASSES);
    const trusted = trustedHeaders(config, uses);
    for (const { node, block } of uses) {
      const headers = trusted.get(upstreamOf(node) ?? '');
      for (const [name, setter] of headers ?? []) {
        if (isReplaced(name, node, block)) continue;
        const written = setter.args[0]?.value ?? name;
        yield {
          at: node,
          message: `header "${written}" reaches this upstream as the client sends it`,
          hint: `add "identity_headers ${written};" to the server or the http block`,
          related: [{ span: setter.name.span, label: 'here it tells who asks' }],
        };
      }
    }
  },
};

/** The headers that tell an upstream who asks, by upstream, and the directives that set them. */
function trustedHeaders(
  config: CheckedConfig,
  uses: readonly Use[],
): ReadonlyMap<string, ReadonlyMap<string, DirectiveNode>> {
  const isIdentity = identityTest(config);
  const found = new Map<string, Map<string, DirectiveNode>>();
  for (const { node, block } of uses) {
    const upstream = upstreamOf(node);
    if (upstream === undefined) continue;
    for (const setter of block.effective(FORWARDING[node.name.value as Pass])) {
      const [name, value] = setter.args;
      if (!name || !value || !isIdentity(value.value)) continue;
      const headers = found.get(upstream) ?? new Map<string, DirectiveNode>();
      found.set(upstream, headers);
      if (!headers.has(plain(name.value))) headers.set(plain(name.value), setter);
    }
  }
  return found;
}

function identityTest(config: CheckedConfig): (value: string) => boolean {
  const names = config.uses(...DEFINING).flatMap(({ node }) => {
    const [, name] = /^\$(\w+)$/.exec(node.args[0]?.value ?? '') ?? [];
    return name === undefined ? [] : [name];
  });
  const defined = names.length === 0 ? undefined : new RegExp(`\\$\\{?(?:${names.join('|')})\\b`, 'i');
  return (value) => IDENTITY.test(value) || defined?.test(value) === true;
}

/** The host and port of an upstream, or the name of its block; `undefined` if requests decide. */
function upstreamOf({ args }: DirectiveNode): string | undefined {
  const [, host] = /^(?:https?|grpcs?):\/\/([^/?#]+)/i.exec(args[0]?.value ?? '') ?? [];
  return host === undefined || host.includes('$') ? undefined : host.toLowerCase();
}

/** True if what the client sends under a name does not reach the upstream. */
function isReplaced(name: string, pass: DirectiveNode, block: BlockView): boolean {
  const named = (nodes: readonly DirectiveNode[]): boolean =>
    nodes.some(({ args }) => args.some(({ value }) => plain(value) === name));
  const setters = block.effective(FORWARDING[pass.name.value as Pass]);
  const sendsNone = block
    .effective('proxy_pass_request_headers')
    .some(({ args }) => args[0]?.value === 'off');
  return (
    setters.some(({ args }) => plain(args[0]?.value ?? '') === name) ||
    named(block.effective('identity_headers')) ||
    (pass.name.value === 'proxy_pass' && sendsNone)
  );
}

/** CGI and some frameworks take `X_User` for `X-User`. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** Directives whose first word says `off`, perhaps by a variable. */
const SWITCHED = ['auth_basic', 'auth_jwt', 'auth_oidc'];

const protectionByClient: Rule = {
  id: 'GW976',
  slug: 'protection-by-client',
  severity: 'error',
  summary: 'a client can switch access control off',
  why: 'The value "off" means that nothing is asked. A client that chooses the whole value sends "off", and is let in.',
  fix: 'Write the realm as text, or choose it with "map", whose values are those of the configuration.',
  bad: {
    in: 'location',
    text: 'auth_basic $http_x_area;\nauth_basic_user_file users;',
    files: { users: 'ann:$apr1$abcdefgh$wHp8yLQ4Xq4uXtC2BK3ji/\n' },
  },
  good: {
    in: 'location',
    text: 'auth_basic "area of $http_x_area";\nauth_basic_user_file users;',
    files: { users: 'ann:$apr1$abcdefgh$wHp8yLQ4Xq4uXtC2BK3ji/\n' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const { taints, patterns } = analysisOf(config);
    const off = patterns.of('^off\\z', false)?.language;
    for (const use of config.uses(...SWITCHED)) {
      const [realm] = use.node.args;
      if (!realm?.value.includes('$') || !off) continue;
      const source = taints
        .alternativesOf(realm, use)
        .map((pieces) => pieces.filter((piece) => piece !== ''))
        .find((pieces) => isChosen(pieces, off, taints));
      if (source)
        yield {
          at: realm.span,
          message: `a client can choose "off" for "${realm.value}": "${use.node.name.value}" then asks for nothing`,
        };
    }
  },
};

type Taints = ReturnType<typeof analysisOf>['taints'];

/** True if the value is one piece that clients choose, and can be this text. */
function isChosen(
  pieces: ReturnType<Taints['alternativesOf']>[number],
  text: Machine,
  taints: Taints,
): boolean {
  const [only, ...more] = pieces;
  return (
    only !== undefined &&
    typeof only !== 'string' &&
    more.length === 0 &&
    taints.badTextOf(only, text) !== undefined
  );
}

/** The rules about who asks. */
export const IDENTITY_RULES: readonly Rule[] = [identityHeaderForgeable, protectionByClient];
