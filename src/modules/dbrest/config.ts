import type { KeySource, RolePath } from './auth/index.ts';
import type { CorsOrigins } from './cors.ts';
import type { DbrestPass } from './dsn.ts';

/** What the directives of one location say. */
export interface DbrestConfig {
  readonly pass?: DbrestPass;
  /** Absolute path of the SQL that a new embedded database starts with. */
  readonly embeddedInit?: string;
  readonly poolSize: number;
  readonly poolTimeoutMs: number;
  readonly poolQueue: number;
  /** Whether a request may meet what those before it left in its session. */
  readonly poolReset: 'discard' | 'none';
  readonly timeoutMs: number;
  /** Never empty; the first is the default. */
  readonly schemas: readonly string[];
  readonly extraSearchPath: readonly string[];
  readonly anonRole?: string;
  readonly jwtKeys?: KeySource;
  readonly jwtRolePath: RolePath;
  readonly jwtAudience?: string;
  /** What a bad token gets: the anonymous role, or 401. */
  readonly jwtInvalid: 'anon' | 'reject';
  readonly maxRows?: number;
  /** Called in front of every request: schema and name, or the name alone. */
  readonly preRequest?: readonly string[];
  readonly txEnd: TxEnd;
  readonly settings?: readonly Setting[];
  /** `minimal`: an error answer has a code and a message alone. */
  readonly errorVerbosity: 'verbose' | 'minimal';
  readonly aggregates: boolean;
  /** Which paths name functions: those below `rpc/`, all of them, none. */
  readonly rpc: 'auto' | 'on' | 'off';
  /** What the root describes: what the role may use, everything, nothing. */
  readonly openapi: 'follow-privileges' | 'ignore-privileges' | 'off';
  readonly corsOrigins: CorsOrigins;
  readonly plan: boolean;
  readonly serverTiming: boolean;
}

/** How the transaction of a request ends, and whether a request may choose. */
export type TxEnd = 'commit' | 'commit-allow-override' | 'rollback' | 'rollback-allow-override';

/** `dbrest_setting`: a setting that every request finds. */
export interface Setting {
  /** With its `app.settings.` in front. */
  readonly name: string;
  readonly value: string;
}
