import type { Source } from '../../../../grammar/index.ts';
import { worldReadableMode } from '../../file-modes.ts';
import { writtenSecrets } from '../../secrets.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

const TEXT =
  '# gw-ignore-file GW320: the key of a machine that nobody else logs in to\nsecure_link_secret 3f9c0e6b1d;\n';

export const configWorldReadable: Rule = {
  id: 'GW321',
  slug: 'config-world-readable',
  severity: 'warning',
  summary: 'a file of the configuration holds secrets, and every user of the machine can read it',
  why: 'Any program on the machine, the one that was broken into as well, reads the passwords.',
  fix: 'chmod 640 with a group of its own, or let the environment or a file hold the secrets.',
  bad: {
    in: 'location',
    text: 'include secrets.conf;',
    files: { 'secrets.conf': { text: TEXT, mode: 0o644 } },
  },
  good: {
    in: 'location',
    text: 'include secrets.conf;',
    files: { 'secrets.conf': { text: TEXT, mode: 0o640 } },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<Source>();
    for (const { span } of writtenSecrets(config)) {
      const { source } = span;
      if (told.has(source) || source.path === undefined) continue;
      told.add(source);
      const mode = worldReadableMode(source.path);
      if (mode !== undefined)
        yield {
          at: span,
          message: `"${source.name}" holds secrets and is readable by everybody (mode ${mode})`,
          hint: 'chmod 640',
        };
    }
  },
};
