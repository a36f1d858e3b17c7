import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView, ComplexValue } from '../../../config/index.ts';
import type { CheckedConfig } from '../../rule.ts';

/** What rules read of the directives `kv_*`. */
export interface KvSettings {
  readonly pass?: KvPass;
  readonly key?: ComplexValue;
  readonly command: string;
}

/** Where a store is. */
export type KvPass =
  | { readonly kind: 'embedded' | 'unix' | 'variable' }
  | (Login & { readonly kind: 'inet'; readonly host: string })
  | (Login & { readonly kind: 'name'; readonly name: string });

interface Login {
  readonly password?: string;
  readonly tls?: true;
}

/** A place that answers with a command of a store. */
export interface ServedStore {
  /** Its `kv_pass`. */
  readonly node: DirectiveNode;
  readonly block: BlockView;
  readonly settings: KvSettings & { readonly pass: KvPass };
}

/** Every place that answers with a command of a store. */
export function servedStores(config: CheckedConfig): readonly ServedStore[] {
  return config.uses('kv_pass').flatMap(({ node, block }) => {
    const settings = block.config('kv') as unknown as KvSettings;
    const { pass } = settings;
    return pass ? [{ node, block, settings: { ...settings, pass } }] : [];
  });
}

/** The directive that gave a field, else the `kv_pass`. */
export function placeOf({ block, node }: ServedStore, field: 'key' | 'command'): DirectiveNode {
  return block.from('kv').get(field)?.nodes[0] ?? node;
}

const CHANGES: ReadonlySet<string> = new Set(['set', 'del', 'incr', 'decr', 'expire', 'hset', 'hdel']);

/** The method that a command is called by. */
export function methodOf(command: string): 'GET' | 'POST' {
  return CHANGES.has(command) ? 'POST' : 'GET';
}
