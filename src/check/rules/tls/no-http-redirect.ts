import type { BlockView } from '../../../config/index.ts';
import { isPublic } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { speaksPlain, tlsServers } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

const TLS = `server {\n    ${SHOP.text.replaceAll('\n', '\n    ')}\n}`;

export const noHttpRedirect: Rule = {
  id: 'GW508',
  slug: 'no-http-redirect',
  severity: 'info',
  summary: 'a site answers over plain HTTP what it also answers over TLS',
  why: 'Who follows an "http://" link stays in clear: passwords and sessions can be read on the way.',
  fix: 'Say "return 301 https://$host$request_uri;" in the plain server.',
  bad: {
    in: 'http',
    text: `server {\n    listen 80;\n    server_name shop.example;\n    root shop;\n}\n${TLS}`,
    files: SHOP.files,
  },
  good: {
    in: 'http',
    text: `server {\n    listen 80;\n    server_name shop.example;\n    return 301 https://$host$request_uri;\n}\n${TLS}`,
    files: SHOP.files,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const secured = new Map(
      tlsServers(config).flatMap((server) => namesOf(server).map((name) => [name, server])),
    );
    for (const server of config.blocks('server')) {
      const name = namesOf(server).find((one) => secured.has(one));
      if (name === undefined || !server.node || !speaksPlain(server) || !isPublic(server)) continue;
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

/** A redirect to https anywhere in it, an upstream that decides, or a look at the scheme. */
function leadsAway(block: BlockView): boolean {
  const says = block.own('return', 'rewrite', 'error_page', 'if', 'proxy_pass');
  return (
    says.some(
      ({ name, args }) => name.value === 'proxy_pass' || args.some(({ value }) => TO_TLS.test(value)),
    ) || block.inner.some(leadsAway)
  );
}

const TO_TLS = /https:|\$\{?(?:scheme|https|http_x_forwarded_proto)\b/i;
