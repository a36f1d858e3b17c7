import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { hmacSecrets, isExampleSecret } from './secrets.ts';
import { tokenKeys } from './settings.ts';

export const dbrestSecretExample: Rule = {
  id: 'GW605',
  slug: 'dbrest-secret-example',
  severity: 'error',
  summary: 'a secret for tokens that stands in a tutorial, or is a placeholder',
  why: 'Everybody knows it, and so everybody can write tokens for every role.',
  fix: 'Take at least 32 random bytes: "gw secret" prints some.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'reallyreallyreallyreallyverysafe' },
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'Vq3xT8nZpLkWm7RcYd2JsHf6BgQe9UtA' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, keys } of tokenKeys(config)) {
      if (!hmacSecrets(keys).some(isExampleSecret)) continue;
      yield {
        at: node,
        message: 'the secret of "dbrest_jwt_secret" is a known example',
        hint: '"gw secret" prints a new one',
      };
    }
  },
};
