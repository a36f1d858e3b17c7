import type { DirectiveNode } from '../../../../grammar/index.ts';
import { type BlockView, byHeader, oncePer, serverOf } from '../../../config/index.ts';
import { type CheckedConfig, forwards, type Problem, type Rule } from '../../../contract/index.ts';
import { speaksPlain, sslOf, tlsServers } from '../servers.ts';
import { SHOP } from './certificates.ts';

const authPlainHttp: Rule = {
  id: 'GW319',
  slug: 'auth-plain-http',
  severity: 'warning',
  summary: 'passwords or tokens are sent over plain HTTP',
  why: 'Anyone on the network path can read them, and use them while they are valid.',
  fix: 'Serve the location over TLS only, and redirect plain HTTP there.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 80;\n    location / {\n        auth_basic "staff";\n        auth_basic_user_file staff;\n    }\n}',
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:80;\n    location / {\n        auth_basic "staff";\n        auth_basic_user_file staff;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const block of config.blocks('server', 'location')) {
      const server = serverOf(block);
      if (!server || !speaksPlain(server) || !config.isPublic(server) || isBehindProxy(block)) continue;
      // A test of the scheme may redirect clients without TLS.
      if (looksAtScheme(block)) continue;
      for (const node of credentialsAskedIn(block, config)) {
        if (told.has(node)) continue;
        told.add(node);
        yield {
          at: node,
          message: `"${node.name.value}" requires credentials over plain HTTP`,
          ...(server.node && { related: [{ span: server.node.name.span, label: 'listens without TLS' }] }),
        };
      }
    }
  },
};

function credentialsAskedIn(block: BlockView, config: CheckedConfig): readonly DirectiveNode[] {
  // On the server level they may be meant for locations that redirect.
  if (block.context === 'server' && block.inner.length > 0) return [];
  return block
    .effective('auth_basic', 'auth_jwt', 'auth_api_key', 'auth_oidc', 'oidc', 'dbrest_jwt_secret')
    .filter(({ name, args }) => {
      const [first] = args.map(({ value }) => value);
      if (first === 'off') return false;
      if (name.value === 'oidc') return !block.effective('oidc_redirect_uri').some(isHttps);
      return !(name.value === 'auth_oidc' && comesBackOverTls(config, first));
    });
}

/** True for an OpenID Provider that sends clients back to a server in front, which speaks TLS. */
function comesBackOverTls(config: CheckedConfig, provider: string | undefined): boolean {
  return config
    .blocks('oidc_provider')
    .some((block) => block.args === provider && block.own('redirect_uri').some(isHttps));
}

function isHttps({ args }: DirectiveNode): boolean {
  return args[0]?.value.startsWith('https:') === true;
}

/** True behind a trusted proxy, which may have received the request over TLS. */
function isBehindProxy(block: BlockView): boolean {
  return block.effective('set_real_ip_from').length > 0;
}

function looksAtScheme(block: BlockView): boolean {
  return [...block.outward()].some(looksItself);
}

/** Cached, since each of ten thousand locations needs it for its server. */
const looksItself = oncePer(
  (block: BlockView): boolean =>
    block.own('return').length > 0 ||
    block.own('if').some(({ args }) => args.some(({ value }) => SCHEME.test(value))),
);

const SCHEME = /\$\{?(?:scheme|https|http_x_forwarded_proto)\b/i;

const PUBLIC_SHOP = SHOP.text.replace('127.0.0.1:8443', '443').replaceAll('\n', '\n    ');

const noHsts: Rule = {
  id: 'GW506',
  slug: 'no-hsts',
  severity: 'info',
  summary: 'a site over TLS does not tell browsers to stay with TLS',
  why: 'After each click on an "http://" link, the first request is not encrypted, and anyone on the network path can respond to it.',
  fix: 'Add "add_header Strict-Transport-Security \\"max-age=31536000\\" always;".',
  bad: { in: 'http', text: `server {\n    ${PUBLIC_SHOP}\n}`, files: SHOP.files },
  good: {
    in: 'http',
    text: `server {\n    ${PUBLIC_SHOP}\n    add_header Strict-Transport-Security "max-age=31536000" always;\n}`,
    files: SHOP.files,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of tlsServers(config)) {
      const at = server.node?.name.span;
      // An upstream may send the header itself, and a server that only refuses need not.
      if (!at || !config.isPublic(server) || forwards(server) || !servesContent(server)) continue;
      if (!saysHsts(server)) yield { at, message: 'responses over TLS have no "Strict-Transport-Security"' };
    }
  },
};

function servesContent(server: BlockView): boolean {
  return !sslOf(server).rejectHandshake && server.own('return').length === 0;
}

function saysHsts(block: BlockView): boolean {
  return (
    byHeader(block.effective('add_header')).has('strict-transport-security') || block.inner.some(saysHsts)
  );
}

const hstsOnHttp: Rule = {
  id: 'GW507',
  slug: 'hsts-on-http',
  severity: 'info',
  summary: '"Strict-Transport-Security" from a server without TLS',
  why: 'Browsers ignore the header when it comes over plain HTTP (RFC 6797), so it protects nothing.',
  fix: 'Redirect to https:// here, and send the header from the server that speaks TLS.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 80;\n    add_header Strict-Transport-Security "max-age=31536000" always;\n}',
  },
  good: { in: 'http', text: 'server {\n    listen 80;\n    return 301 https://$host$request_uri;\n}' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const tls = new Set(tlsServers(config));
    for (const { node, block } of config.uses('add_header')) {
      const server = serverOf(block);
      if (node.args[0]?.value.toLowerCase() !== 'strict-transport-security' || !server) continue;
      // A server behind a proxy may be reached over TLS.
      if (dependsOnScheme(config, node.args[1]?.value ?? '')) continue;
      const isBehindProxy = !config.isPublic(server) || block.effective('set_real_ip_from').length > 0;
      if (!tls.has(server) && !isBehindProxy)
        yield { at: node, message: '"Strict-Transport-Security" over plain HTTP is ignored by browsers' };
    }
  },
};

/** True if a `map` of the scheme sets the value, which is then empty without TLS. */
function dependsOnScheme(config: CheckedConfig, value: string): boolean {
  return config
    .uses('map')
    .some(({ node: { args } }) => args[1]?.value === value && SCHEMES.test(args[0]?.value ?? ''));
}

const SCHEMES = /^\$\{?(?:scheme|https|http_x_forwarded_proto|ssl_protocol)\b/;

const TLS_SERVER = `server {\n    ${SHOP.text.replaceAll('\n', '\n    ')}\n}`;

const noHttpRedirect: Rule = {
  id: 'GW508',
  slug: 'no-http-redirect',
  severity: 'info',
  summary: 'a site is served over plain HTTP as well as over TLS',
  why: 'A client that follows an "http://" link stays on plain HTTP: passwords and sessions can be read on the network path.',
  fix: 'Write "return 301 https://$host$request_uri;" in the server without TLS.',
  bad: {
    in: 'http',
    text: `server {\n    listen 80;\n    server_name shop.example;\n    root shop;\n}\n${TLS_SERVER}`,
    files: SHOP.files,
  },
  good: {
    in: 'http',
    text: `server {\n    listen 80;\n    server_name shop.example;\n    return 301 https://$host$request_uri;\n}\n${TLS_SERVER}`,
    files: SHOP.files,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const secured = new Map(
      tlsServers(config).flatMap((server) => namesOf(server).map((name) => [name, server])),
    );
    for (const server of config.blocks('server')) {
      const name = namesOf(server).find((one) => secured.has(one));
      if (name === undefined || !server.node || !speaksPlain(server) || !config.isPublic(server)) continue;
      if (leadsAway(server)) continue;
      const other = secured.get(name);
      yield {
        at: server.node.name.span,
        message: `"${name}" is served over plain HTTP as well as over TLS`,
        ...(other !== server &&
          other?.node && { related: [{ span: other.node.name.span, label: 'over TLS' }] }),
      };
    }
  },
};

function namesOf(server: BlockView): readonly string[] {
  return server
    .own('server_name')
    .flatMap(({ args }) => args.map(({ value }) => value.toLowerCase()))
    .filter((name) => /^[^~_$][^$]*\.[^.]+$/.test(name));
}

/** True for a block with a redirect to https, an upstream that may decide, or a test of the scheme. */
function leadsAway(block: BlockView): boolean {
  const says = block.own('return', 'rewrite', 'error_page', 'if', 'proxy_pass');
  return (
    says.some(
      ({ name, args }) => name.value === 'proxy_pass' || args.some(({ value }) => TO_TLS.test(value)),
    ) || block.inner.some(leadsAway)
  );
}

const TO_TLS = /https:|\$\{?(?:scheme|https|http_x_forwarded_proto)\b/i;

/** The rules about plain HTTP. */
export const PLAIN_HTTP_RULES: readonly Rule[] = [authPlainHttp, noHsts, hstsOnHttp, noHttpRedirect];
