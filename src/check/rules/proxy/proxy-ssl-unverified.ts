import { existsSync } from 'node:fs';
import { hostOf, isLocal } from '../../addresses.ts';
import { lineBehind } from '../../edits.ts';
import { passes, upstreamNamed } from '../../proxying.ts';
import type { PassTarget } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** Where systems keep the authorities that they trust. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
] as const;

export const proxySslUnverified: Rule = {
  id: 'GW417',
  slug: 'proxy-ssl-unverified',
  severity: 'warning',
  summary: 'an upstream is asked over TLS, and nobody looks at its certificate',
  why: 'Without "proxy_ssl_verify" anybody on the way can answer in the place of the upstream: the encryption only looks like protection.',
  fix: 'Say "proxy_ssl_verify on;" with "proxy_ssl_trusted_certificate", and "proxy_ssl_server_name on;".',
  bad: { in: 'location', text: 'proxy_pass https://192.0.2.7;' },
  good: {
    in: 'location',
    text: 'proxy_pass https://192.0.2.7;\nproxy_ssl_verify on;\nproxy_ssl_trusted_certificate authority.crt;',
    files: { 'authority.crt': '' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, target } of passes(config)) {
      if (block.config('proxy')['sslVerify'] === true || !goesOut(config, target)) continue;
      const bundle = BUNDLES.find((path) => existsSync(path));
      const lines = [
        'proxy_ssl_verify on;',
        `proxy_ssl_trusted_certificate ${bundle};`,
        'proxy_ssl_server_name on;',
      ].filter((line) => block.own(line.split(' ')[0] as string).length === 0);
      yield {
        at: node,
        message: '"proxy_pass" over https does not verify whom it talks to',
        hint: 'say "proxy_ssl_verify on" with "proxy_ssl_trusted_certificate"',
        ...(bundle !== undefined &&
          lines.length === 3 && {
            fix: {
              title: `verify with the authorities of this machine (${bundle})`,
              safe: false,
              edits: lines.map((line) => lineBehind(node, line)),
            },
          }),
      };
    }
  },
};

/** Over TLS, to another machine. */
function goesOut(config: CheckedConfig, target: PassTarget): boolean {
  if (target.kind === 'variables') {
    const [first] = target.value.parts;
    return (
      typeof first === 'string' && /^https:\/\//i.test(first) && !isLocal(first.slice('https://'.length))
    );
  }
  if (target.scheme !== 'https') return false;
  const servers = upstreamNamed(config, target.host)?.own('server');
  const hosts = servers?.map(({ args }) => hostOf(args[0]?.value ?? '')) ?? [target.host];
  return !hosts.every(isLocal);
}
