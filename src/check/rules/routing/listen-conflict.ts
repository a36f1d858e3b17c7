import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { socketsOf, speaksTls, sslOf } from '../../sockets.ts';
import type { Listener } from '../../sockets.ts';

export const listenConflict: Rule = {
  id: 'GW216',
  slug: 'listen-conflict',
  severity: 'error',
  summary: 'two "listen" that ask different things of one socket',
  why: 'A socket is opened once: it speaks TLS with everybody or with nobody, and has one default server.',
  fix: 'Say the same in each of them, or give one of the servers another port.',
  bad: { text: 'listen 127.0.0.1:8080;' },
  good: { text: 'listen 127.0.0.1:8081;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { address, listeners } of socketsOf(config)) {
      const secure = listeners.find(speaksTls);
      if (!secure) continue;
      for (const { node, server } of listeners.filter(isPlain)) {
        yield {
          at: node,
          message: `"listen" without "ssl" on ${address}, which speaks TLS`,
          hint: 'the server has no certificate: move it to a port of its own',
          label: 'plain HTTP meant here',
          related: [
            { span: secure.node.span, label: 'TLS for all servers of the socket' },
            ...(server.node ? [{ span: server.node.name.span, label: 'without "ssl_certificate"' }] : []),
          ],
        };
      }
    }
  },
};

/** A server with a certificate on such a socket just relies on the other's word. */
function isPlain(listener: Listener): boolean {
  const { certificates, rejectHandshake } = sslOf(listener.server);
  return !speaksTls(listener) && certificates === undefined && rejectHandshake !== true;
}
