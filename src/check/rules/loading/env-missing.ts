import type { Rule } from '../../rule.ts';

export const envMissing: Rule = {
  id: 'GW119',
  slug: 'env-missing',
  severity: 'error',
  summary: 'an environment variable that is not set',
  why: 'The value would be empty.',
  fix: 'Set it where the gateway is started, or give a default: "${env:NAME:-default}".',
  bad: { text: 'add_header X-Stage "${env:GW_EXAMPLE_STAGE}";' },
  good: { text: 'add_header X-Stage "${env:GW_EXAMPLE_STAGE:-production}";' },
};
