import type { VariableDefinition } from '../../contract/index.ts';
import { OUTCOME_OF, outcomeOf } from './outcome.ts';

const variable = (summary: string, name: keyof typeof OUTCOME_OF): VariableDefinition => ({
  summary,
  compile: () => {
    const field = OUTCOME_OF[name];
    return (x) => outcomeOf(x)?.[field];
  },
});

/** What a location's command left behind for headers and logs (specification, section 2.3). */
export const variables = {
  kv_last_value: variable('Value that get or hget found.', 'kv_last_value'),
  kv_last_exists: variable('1 when the key existed, 0 when not.', 'kv_last_exists'),
  kv_last_error: variable('kv_error or connection_failed when the command failed.', 'kv_last_error'),
  kv_connection_state: variable(
    'connected, degraded or error: the store as this worker sees it.',
    'kv_connection_state',
  ),
};
