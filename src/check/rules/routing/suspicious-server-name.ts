import type { Word } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { rewritten } from '../../edits.ts';

export const suspiciousServerName: Rule = {
  id: 'GW219',
  slug: 'suspicious-server-name',
  severity: 'warning',
  summary: 'a server name with a scheme, a path, a port or a comma',
  why: 'Names are compared with the host of a request alone: such a name never matches, and the default server answers.',
  fix: 'Write the host alone; several names are parted by blanks.',
  bad: { text: 'server_name http://www.example.com;' },
  good: { text: 'server_name www.example.com;' },
  /** nginx itself warns of slashes. */
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('server_name')) {
      for (const word of node.args) {
        const [, host, port, comma] = /^([^~/,:][^/,:]*)?(:\d+)?(,)?$/.exec(word.value) ?? [];
        if (host !== undefined && (port !== undefined || comma !== undefined))
          yield problemOf(word, host, port === undefined ? 'a comma' : 'a port');
      }
    }
  },
};

function problemOf(word: Word, host: string, what: string): Problem {
  return {
    at: word.span,
    message: `server name "${word.value}" has ${what}, which the name of a request never has`,
    fix: { title: `leave "${host}"`, safe: false, edits: [rewritten(word, host)] },
  };
}
