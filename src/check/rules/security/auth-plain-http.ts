import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { isPublic, serverOf } from '../../exposure.ts';
import { oncePer } from '../../once-per.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { speaksPlain } from '../../tls-servers.ts';

export const authPlainHttp: Rule = {
  id: 'GW319',
  slug: 'auth-plain-http',
  severity: 'warning',
  summary: 'passwords or tokens come in over plain HTTP',
  why: 'Everybody on the way reads them, and can use them as long as they are good.',
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
      if (!server || !speaksPlain(server) || !isPublic(server) || isBehindProxy(block)) continue;
      // A look at the scheme may well lead away whoever comes without TLS.
      if (looksAtScheme(block)) continue;
      for (const node of credentialsAskedIn(block)) {
        if (told.has(node)) continue;
        told.add(node);
        yield {
          at: node,
          message: `"${node.name.value}" asks for secrets over plain HTTP`,
          ...(server.node && { related: [{ span: server.node.name.span, label: 'listens without TLS' }] }),
        };
      }
    }
  },
};

function credentialsAskedIn(block: BlockView): readonly DirectiveNode[] {
  // At the server level they may be meant for locations that lead away.
  if (block.context === 'server' && block.inner.length > 0) return [];
  return block.effective('auth_basic', 'dbrest_jwt_secret').filter(({ args }) => args[0]?.value !== 'off');
}

/** What comes through a proxy that is believed may have come to it over TLS. */
function isBehindProxy(block: BlockView): boolean {
  return block.effective('set_real_ip_from').length > 0;
}

function looksAtScheme(block: BlockView): boolean {
  return [...block.outward()].some(looksItself);
}

/** Each of ten thousand locations asks the server around it. */
const looksItself = oncePer(
  (block: BlockView): boolean =>
    block.own('return').length > 0 ||
    block.own('if').some(({ args }) => args.some(({ value }) => SCHEME.test(value))),
);

const SCHEME = /\$\{?(?:scheme|https|http_x_forwarded_proto)\b/i;
