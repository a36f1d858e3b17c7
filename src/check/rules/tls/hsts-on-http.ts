import { isPublic, serverOf } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { tlsServers } from '../../tls-servers.ts';

export const hstsOnHttp: Rule = {
  id: 'GW507',
  slug: 'hsts-on-http',
  severity: 'info',
  summary: '"Strict-Transport-Security" from a server without TLS',
  why: 'Browsers ignore the header when it comes over plain HTTP (RFC 6797): nothing is protected by it.',
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
      // Who listens for a proxy of this machine, or believes one, may well be reached over TLS.
      const isBehindProxy = !isPublic(server) || block.effective('set_real_ip_from').length > 0;
      if (!tls.has(server) && !isBehindProxy)
        yield { at: node, message: '"Strict-Transport-Security" over plain HTTP is ignored by browsers' };
    }
  },
};
