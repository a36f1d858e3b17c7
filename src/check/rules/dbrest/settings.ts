import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig } from '../../../contract/index.ts';

/** What rules read of the directives `dbrest_*`. */
export interface DbrestSettings {
  readonly pass?:
    | { readonly kind: 'embedded' }
    | {
        readonly kind: 'server';
        readonly target: {
          readonly hosts: readonly { readonly host: string; readonly port: number }[];
          readonly user?: string;
          readonly sslMode: string;
        };
      };
  readonly poolSize: number;
  readonly timeoutMs: number;
  readonly schemas: readonly string[];
  readonly anonRole?: string;
  readonly jwtKeys?: KeySource;
  readonly maxRows?: number;
  readonly rpc: 'auto' | 'on' | 'off';
  readonly openapi: string;
}

/** What tokens are verified with. */
export type KeySource =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'keys'; readonly keys: readonly Jwk[] };

/** A JSON Web Key, as far as rules judge it. */
export interface Jwk {
  readonly kty: string;
  readonly alg?: string;
  readonly k?: string;
}

/** A location that serves a database. */
export interface ServedDatabase {
  /** Its `dbrest_pass`. */
  readonly node: DirectiveNode;
  readonly block: BlockView;
  readonly settings: DbrestSettings;
}

/** Every location that serves a database. */
export function servedDatabases(config: CheckedConfig): readonly ServedDatabase[] {
  return config.uses('dbrest_pass').flatMap(({ node, block }) => {
    const settings = settingsOf(block);
    return settings.pass ? [{ node, block, settings }] : [];
  });
}

/** What holds in a block. */
export function settingsOf(block: BlockView): DbrestSettings {
  return block.config('dbrest') as unknown as DbrestSettings;
}

/** The keys of every `dbrest_jwt_secret`, and the directive. */
export function tokenKeys(
  config: CheckedConfig,
): readonly { readonly node: DirectiveNode; readonly keys: KeySource }[] {
  return config.uses('dbrest_jwt_secret').flatMap(({ node, block }) => {
    const keys = settingsOf(block).jwtKeys;
    return keys ? [{ node, keys }] : [];
  });
}

const SUPERUSERS: ReadonlySet<string> = new Set(['postgres', 'supabase_admin', 'rdsadmin', 'enterprisedb']);

/** A role that has all rights where nobody took them from it. */
export function isSuperuser(role: string | undefined): boolean {
  return role !== undefined && SUPERUSERS.has(role);
}
