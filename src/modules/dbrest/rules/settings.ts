import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedModule } from '../../../contract/index.ts';
import type { DbrestConfig } from '../config.ts';

/** What tokens are verified with. */
export type KeySource = NonNullable<DbrestConfig['jwtKeys']>;

/** A JSON Web Key. */
export type Jwk = Extract<KeySource, { readonly kind: 'keys' }>['keys'][number];

/** A location that serves a database. */
export interface ServedDatabase {
  /** Its `dbrest_pass`. */
  readonly node: DirectiveNode;
  readonly block: BlockView;
  readonly settings: DbrestConfig;
}

/** Every location that serves a database. */
export function servedDatabases(config: CheckedModule<DbrestConfig>): readonly ServedDatabase[] {
  return config.uses('dbrest_pass').flatMap(({ node, block }) => {
    const settings = config.configIn(block);
    return settings.pass ? [{ node, block, settings }] : [];
  });
}

/** The keys of every `dbrest_jwt_secret`, and the directive. */
export function tokenKeys(
  config: CheckedModule<DbrestConfig>,
): readonly { readonly node: DirectiveNode; readonly keys: KeySource }[] {
  return config.uses('dbrest_jwt_secret').flatMap(({ node, block }) => {
    const keys = config.configIn(block).jwtKeys;
    return keys ? [{ node, keys }] : [];
  });
}

const SUPERUSERS: ReadonlySet<string> = new Set(['postgres', 'supabase_admin', 'rdsadmin', 'enterprisedb']);

/** A role that has all rights where nobody took them from it. */
export function isSuperuser(role: string | undefined): boolean {
  return role !== undefined && SUPERUSERS.has(role);
}
