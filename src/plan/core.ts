import type { ResolvedConfigs } from '../config/index.ts';
import type { CoreConfig, ServerName } from '../contract/index.ts';

/** The core's config of one level. */
export function coreOf(level: ResolvedConfigs): CoreConfig {
  return level.get('core')?.value as unknown as CoreConfig;
}

/** All names of a server, of however many directives; none means the empty name. */
export function serverNamesOf(level: ResolvedConfigs): readonly ServerName[] {
  return coreOf(level).serverNames?.flat() ?? [{ kind: 'exact', name: '' }];
}
