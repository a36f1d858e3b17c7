import type { Rule } from '../rule.ts';
import { LOADING_RULES } from './loading/index.ts';
import { ROUTING_RULES } from './routing/index.ts';
import { SECURITY_RULES } from './security/index.ts';
import { PROXY_RULES } from './proxy/index.ts';
import { TLS_RULES } from './tls/index.ts';
import { DBREST_RULES } from './dbrest/index.ts';
import { KV_RULES } from './kv/index.ts';
import { EVENTS_RULES } from './events/index.ts';
import { OPERATIONS_RULES } from './operations/index.ts';

/** Every rule, in the order of the ids. */
export const RULES: readonly Rule[] = [
  ...LOADING_RULES,
  ...ROUTING_RULES,
  ...SECURITY_RULES,
  ...PROXY_RULES,
  ...TLS_RULES,
  ...DBREST_RULES,
  ...KV_RULES,
  ...EVENTS_RULES,
  ...OPERATIONS_RULES,
].toSorted((a, b) => a.id.localeCompare(b.id));

const byName = new Map(RULES.flatMap((rule) => [rule.id, rule.slug].map((name) => [name, rule])));

/** A rule by its id or its slug. */
export function ruleNamed(name: string): Rule | undefined {
  return byName.get(name);
}
