import type { BlockView } from '../config/index.ts';
import type { CheckedConfig } from './rule.ts';

/** The blocks in which one of these directives stands, each once. */
export function blocksWith(config: CheckedConfig, ...directives: readonly string[]): ReadonlySet<BlockView> {
  return new Set(config.uses(...directives).map(({ block }) => block));
}
