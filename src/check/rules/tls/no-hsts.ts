import type { BlockView } from '../../../config/index.ts';
import { isPublic } from '../../exposure.ts';
import { byHeader, forwards } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { sslOf, tlsServers } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

const PUBLIC_SHOP = SHOP.text.replace('127.0.0.1:8443', '443').replaceAll('\n', '\n    ');

export const noHsts: Rule = {
  id: 'GW506',
  slug: 'no-hsts',
  severity: 'info',
  summary: 'a site over TLS does not tell browsers to stay there',
  why: 'The first request after each click on an "http://" link goes out in clear, and whoever sits in between can answer it.',
  fix: 'Say "add_header Strict-Transport-Security \\"max-age=31536000\\" always;".',
  bad: { in: 'http', text: `server {\n    ${PUBLIC_SHOP}\n}`, files: SHOP.files },
  good: {
    in: 'http',
    text: `server {\n    ${PUBLIC_SHOP}\n    add_header Strict-Transport-Security "max-age=31536000" always;\n}`,
    files: SHOP.files,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of tlsServers(config)) {
      const at = server.node?.name.span;
      // What an upstream says is its own business, and a door says nothing.
      if (!at || !isPublic(server) || forwards(server) || !answers(server)) continue;
      if (!saysHsts(server))
        yield { at, message: 'answers over TLS come without "Strict-Transport-Security"' };
    }
  },
};

function answers(server: BlockView): boolean {
  return !sslOf(server).rejectHandshake && server.own('return').length === 0;
}

function saysHsts(block: BlockView): boolean {
  return (
    byHeader(block.effective('add_header')).has('strict-transport-security') || block.inner.some(saysHsts)
  );
}
