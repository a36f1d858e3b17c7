import { isLocal } from '../../addresses.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedDatabases } from './settings.ts';

export const dbrestPlainRemote: Rule = {
  id: 'GW609',
  slug: 'dbrest-plain-remote',
  severity: 'warning',
  summary: 'a database on another machine whose certificate is not verified',
  why: 'Whoever sits in between reads what passes, the password first; without "verify-full" he only has to show any certificate.',
  fix: 'Add sslmode=verify-full, and sslrootcert with the authority of the certificate.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@db.example.com/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@db.example.com/app?sslmode=verify-full; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, settings } of servedDatabases(config)) {
      if (settings.pass?.kind !== 'server') continue;
      const { hosts, sslMode } = settings.pass.target;
      const isHere = hosts.every(({ host }) => host.startsWith('/') || isLocal(host));
      if (isHere || sslMode === 'verify-full') continue;
      yield {
        at: node,
        message: `"dbrest_pass" reaches another machine with "sslmode=${sslMode}": nobody knows who answers`,
        hint: 'add sslmode=verify-full',
      };
    }
  },
};
