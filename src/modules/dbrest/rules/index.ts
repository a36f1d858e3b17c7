import type { ModuleRule } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { TOKEN_RULES } from './tokens.ts';
import { ROLE_RULES, SECURITY_RULES } from './roles.ts';
import { SERVED_RULES } from './served.ts';
import { CONNECTION_RULES } from './connection.ts';
import { POOLER_RULES } from './poolers.ts';
import { CACHING_RULES, REQUEST_RULES } from './requests.ts';
import { SERVICE_RULES } from './services.ts';

/** The rules of dbrest: GW6xx. */
export const rules: readonly ModuleRule<DbrestConfig>[] = [
  ...TOKEN_RULES,
  ...ROLE_RULES,
  ...SERVED_RULES,
  ...CONNECTION_RULES,
  ...POOLER_RULES,
  ...CACHING_RULES,
  ...REQUEST_RULES,
  ...SERVICE_RULES,
  ...SECURITY_RULES,
];
