import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { socketsOf } from '../../sockets.ts';
import { sslOf } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

const SECOND = `server {\n    ${SHOP.text.replaceAll('\n', '\n    ').replace('server_name shop', 'server_name blog')}\n}`;
const FIRST = `server {\n    ${SHOP.text.replaceAll('\n', '\n    ').replace(' ssl;', ' ssl default_server;')}\n}`;
const FILES = { ...SHOP.files, 'shop.crt': { names: ['shop.example', 'blog.example'], days: 90 } };

export const rejectHandshakeDefault: Rule = {
  id: 'GW512',
  slug: 'reject-handshake-default',
  severity: 'info',
  summary: 'clients that ask for an unknown name get the certificate of a site',
  why: 'Whoever scans addresses learns which sites live here, and requests for names of others are answered by the default one.',
  fix: 'Let a server with "ssl_reject_handshake on" be the default.',
  bad: { in: 'http', text: `${FIRST}\n${SECOND}`, files: FILES },
  good: {
    in: 'http',
    text: `server {\n    listen 127.0.0.1:8443 ssl default_server;\n    ssl_reject_handshake on;\n}\n${SECOND}`,
    files: FILES,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<BlockView>();
    for (const { listeners } of socketsOf(config)) {
      const chosen = listeners.find(({ listen }) => listen.defaultServer);
      const named = chosen?.server
        .own('server_name')
        .some(({ args }) => args.some(({ value }) => value.includes('.')));
      if (!chosen?.listen.ssl || listeners.length < 2 || named !== true) continue;
      if (sslOf(chosen.server).rejectHandshake === true || told.has(chosen.server)) continue;
      told.add(chosen.server);
      yield {
        at: chosen.node,
        message: 'clients that ask for an unknown name get the certificate of this server',
      };
    }
  },
};
