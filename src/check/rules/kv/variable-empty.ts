import type { BlockView, ComplexValue } from '../../../config/index.ts';
import { rejectsEmpty } from '../../refusals.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { placeOf, servedStores } from './settings.ts';

export const kvKeyVariableEmpty: Rule = {
  id: 'GW707',
  slug: 'kv-key-variable-empty',
  severity: 'warning',
  summary: 'a key that loses its end where a request leaves something out',
  why: 'A request without the argument gets the key "user:", and so do all others without it: they read and write one value together.',
  fix: 'Refuse such requests: if ($arg_id = "") { return 400; }.',
  bad: { text: 'location = /user { kv_pass 127.0.0.1:6379; kv_key user:$arg_id; }' },
  good: {
    text: 'location = /user { if ($arg_id = "") { return 400; } kv_pass 127.0.0.1:6379; kv_key user:$arg_id; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const store of servedStores(config)) {
      const variable = store.settings.key && mayBeEmpty(config, store.settings.key, store.block);
      if (variable === undefined) continue;
      yield {
        at: placeOf(store, 'key'),
        message: `"$${variable}" may be empty: such requests share one key`,
        hint: `refuse them: if ($${variable} = "") { return 400; }`,
      };
    }
  },
};

/** A key that is empty as a whole is refused; one that only loses a part is not. */
function mayBeEmpty(config: CheckedConfig, { parts }: ComplexValue, block: BlockView): string | undefined {
  if (parts.length < 2) return undefined;
  return parts
    .flatMap((part) => (typeof part === 'object' && 'variable' in part ? part.variable : []))
    .find((name) => /^(?:arg|http|cookie)_/.test(name) && !rejectsEmpty(config, block, name));
}
