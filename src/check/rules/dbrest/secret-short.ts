import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { hmacSecrets, isExampleSecret, LEAST_SECRET_BYTES } from './secrets.ts';
import { tokenKeys } from './settings.ts';

export const dbrestSecretShort: Rule = {
  id: 'GW604',
  slug: 'dbrest-secret-short',
  severity: 'error',
  summary: 'a secret for tokens that can be guessed',
  why: 'Whoever has one token tries secrets at home, millions a second, until one fits; then he writes tokens for every role.',
  fix: 'Take at least 32 random bytes: "gw secret" prints some.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'Vq3xT8nZpLk' },
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_jwt_secret ${file:jwt.key}; }',
    files: { 'jwt.key': 'Vq3xT8nZpLkWm7RcYd2JsHf6BgQe9UtA' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, keys } of tokenKeys(config)) {
      const secrets = hmacSecrets(keys).filter((secret) => !isExampleSecret(secret));
      const bytes = Math.min(...secrets.map(({ length }) => length));
      if (bytes >= LEAST_SECRET_BYTES) continue;
      yield {
        at: node,
        message: `"dbrest_jwt_secret" has ${bytes} bytes, HS256 needs at least ${LEAST_SECRET_BYTES}`,
        hint: '"gw secret" prints one',
      };
    }
  },
};
