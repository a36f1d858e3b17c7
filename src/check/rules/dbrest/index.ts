import type { Rule } from '../../../contract/index.ts';
import { CONNECTION_RULES } from './connection.ts';
import { ROLE_RULES } from './roles.ts';
import { SERVED_RULES } from './served.ts';
import { TOKEN_RULES } from './tokens.ts';

/** REST over PostgreSQL: GW6xx. */
export const DBREST_RULES: readonly Rule[] = [
  ...TOKEN_RULES,
  ...ROLE_RULES,
  ...SERVED_RULES,
  ...CONNECTION_RULES,
];
