import type { CoreConfig } from '../../../contract/index.ts';
import { serverNameText } from '../../../plan/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { socketsOf } from '../../sockets.ts';
import type { Listener } from '../../sockets.ts';

export const noDefaultServer: Rule = {
  id: 'GW207',
  slug: 'no-default-server',
  severity: 'warning',
  summary: 'servers share a socket and none is the default',
  why: 'A request with a name that no server has, or with none, goes to the server that stands first in the file: which one that is changes when files are renamed.',
  fix: 'Mark the one that should answer with "default_server", or add one that refuses: "return 444;".',
  bad: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; return 204; }\nserver { listen 8080; server_name b.example; return 204; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080 default_server; return 444; }\nserver { listen 8080; server_name a.example; return 204; }\nserver { listen 8080; server_name b.example; return 204; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<Listener['server']>();
    for (const { address, listeners } of socketsOf(config)) {
      const [first] = listeners;
      if (!first || listeners.length < 2 || listeners.some(({ listen }) => listen.defaultServer)) continue;
      if (isCatchAll(first) || told.has(first.server)) continue;
      told.add(first.server);
      const last = first.node.args.at(-1)?.span;
      yield {
        at: first.node,
        message: `${listeners.length} servers share ${address} and none is "default_server"`,
        label: 'the first answers unknown names',
        fix: last && {
          title: 'mark the first as "default_server", as it is now',
          safe: false,
          edits: [{ span: { ...last, start: last.end }, text: ' default_server' }],
        },
      };
    }
  },
};

/** By name, the first server is meant for everybody: it has none, or one that nobody asks for. */
function isCatchAll({ server }: Listener): boolean {
  const { serverNames } = server.config('core') as Partial<CoreConfig>;
  const names = serverNames?.flat().map(serverNameText) ?? [''];
  return names.some((name) => /^$|^_$|^""$|^localhost$|^~\^?\.[*+]\$?$/.test(name));
}
