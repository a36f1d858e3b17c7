import { existsSync } from 'node:fs';
import { lineBehind } from '../../../../grammar/index.ts';
import { type BlockView, hostOf, isLocal, isName } from '../../../config/index.ts';
import {
  type CheckedConfig,
  matchOf,
  type ModuleRule,
  passes,
  type PassTarget,
  type Problem,
  type Rule,
  targetOf,
} from '../../../contract/index.ts';
import type { ProxyConfig } from '../config.ts';

const bufferingOff: Rule = {
  id: 'GW413',
  slug: 'buffering-off',
  severity: 'info',
  summary: 'buffering is off for all requests, not only for streamed responses',
  why: 'Without buffering, a slow client keeps the upstream busy for the whole download.',
  fix: 'Turn it off only in locations for event streams and similar responses.',
  bad: { text: 'proxy_buffering off;\nlocation / { proxy_pass http://127.0.0.1:9000; }' },
  good: { text: 'location /events/ {\n    proxy_buffering off;\n    proxy_pass http://127.0.0.1:9000;\n}' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('proxy_buffering')) {
      if (node.args[0]?.value.toLowerCase() === 'off' && isWide(block))
        yield {
          at: node,
          message: '"proxy_buffering off" lets slow clients hold up the upstream for all requests here',
        };
    }
  },
};

function isWide(block: BlockView): boolean {
  const match = matchOf(block);
  return block.context !== 'location' || (match?.kind === 'prefix' && match.path === '/');
}

const singleServerRetry: Rule = {
  id: 'GW415',
  slug: 'single-server-retry',
  severity: 'info',
  summary: '"proxy_next_upstream" without a next server',
  why: 'The upstream has one address only, so a failed request cannot be tried elsewhere.',
  fix: 'Add a server to the "upstream" block, or remove the directive.',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_next_upstream error timeout;',
  },
  good: {
    in: 'http',
    text: 'upstream app {\n    server 127.0.0.1:9000;\n    server 127.0.0.1:9001;\n}\nserver {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://app;\n        proxy_set_header Host $host;\n        proxy_next_upstream error timeout;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('proxy_next_upstream')) {
      const target = targetOf(block);
      if (target?.kind !== 'literal' || node.args.some(({ value }) => value === 'off')) continue;
      const servers = config.upstream(target.host)?.own('server');
      const hosts = servers?.map(({ args }) => hostOf(args[0]?.value ?? '')) ?? [target.host];
      const [only] = hosts;
      // A name may have several addresses.
      if (hosts.length === 1 && only !== undefined && !isName(only))
        yield { at: node, message: '"proxy_next_upstream" has no effect: the upstream has only one server' };
    }
  },
};

const retryNonIdempotent: Rule = {
  id: 'GW416',
  slug: 'retry-non-idempotent',
  severity: 'warning',
  summary: 'requests that are not idempotent may be sent twice',
  why: 'A POST without a response may have been processed, and the next server processes it again: two orders, two payments.',
  fix: 'Remove "non_idempotent", or set it only if the upstream recognises repeated requests.',
  bad: {
    in: 'http',
    text: 'proxy_next_upstream error timeout non_idempotent;',
  },
  good: { in: 'http', text: 'proxy_next_upstream error timeout;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('proxy_next_upstream')) {
      const word = node.args.find(({ value }) => value === 'non_idempotent');
      if (word) yield { at: word.span, message: '"non_idempotent" may send a POST to two servers' };
    }
  },
};

/** Files in which operating systems keep trusted CA certificates. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
] as const;

const proxySslUnverified: ModuleRule<ProxyConfig> = {
  id: 'GW417',
  slug: 'proxy-ssl-unverified',
  severity: 'warning',
  summary: 'the certificate of an upstream is not verified',
  why: 'Without "proxy_ssl_verify", anyone on the network path can impersonate the upstream: the encryption protects nothing.',
  fix: 'Add "proxy_ssl_verify on;" with "proxy_ssl_trusted_certificate", and "proxy_ssl_server_name on;".',
  bad: { in: 'location', text: 'proxy_pass https://192.0.2.7;' },
  good: {
    in: 'location',
    text: 'proxy_pass https://192.0.2.7;\nproxy_ssl_verify on;\nproxy_ssl_trusted_certificate authority.crt;',
    files: { 'authority.crt': '' },
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, target } of passes(config)) {
      if (config.configIn(block).sslVerify || !goesOut(config, target)) continue;
      const bundle = BUNDLES.find((path) => existsSync(path));
      const lines = [
        'proxy_ssl_verify on;',
        `proxy_ssl_trusted_certificate ${bundle};`,
        'proxy_ssl_server_name on;',
      ].filter((line) => block.own(line.split(' ')[0] as string).length === 0);
      yield {
        at: node,
        message: '"proxy_pass" over https does not verify the certificate of the upstream',
        hint: 'add "proxy_ssl_verify on" and "proxy_ssl_trusted_certificate"',
        ...(bundle !== undefined &&
          lines.length === 3 && {
            fix: {
              title: `verify with the CA certificates of this machine (${bundle})`,
              safe: false,
              edits: lines.map((line) => lineBehind(node, line)),
            },
          }),
      };
    }
  },
};

/** Tells whether the upstream is on another machine and is reached over TLS. */
function goesOut(config: CheckedConfig, target: PassTarget): boolean {
  if (target.kind === 'variables') {
    const [first] = target.value.parts;
    return (
      typeof first === 'string' && /^https:\/\//i.test(first) && !isLocal(first.slice('https://'.length))
    );
  }
  if (target.scheme !== 'https') return false;
  const servers = config.upstream(target.host)?.own('server');
  const hosts = servers?.map(({ args }) => hostOf(args[0]?.value ?? '')) ?? [target.host];
  return !hosts.every(isLocal);
}

/** Rules about buffering, retries and TLS towards upstreams. */
export const PROXY_UPSTREAM_RULES: readonly ModuleRule<ProxyConfig>[] = [
  bufferingOff,
  singleServerRetry,
  retryNonIdempotent,
  proxySslUnverified,
];
