import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { RoleSettings } from '../schema/index.ts';
import type { BoundValue, Statement } from '../sql/index.ts';

const MASK = '***';
/** Matches `"authorization":"Bearer …"` and the like in the headers that are passed to the database. */
const LOGIN =
  /("(?:proxy-)?authorization":"(?:\w+ )?|"(?:x-api-key|apikey|x-publish-key)":")(?:[^"\\]|\\.)*/g;
const MOST_CHARACTERS = 4_096;

/** The values of a statement as SQL shows them; the token, logins and settings of configuration and role are masked. */
export function maskedValues(
  { values }: Statement,
  { identity, config, roleSettings }: Masking,
): readonly string[] {
  const hidden = new Set([
    ...(config.settings ?? []).map(({ value }) => value),
    ...(roleSettings?.values ?? []),
    ...(identity.jwt === '' ? [] : [identity.jwt]),
  ]);
  return values.map((value) => {
    if (typeof value === 'string' && hidden.has(value)) return `'${MASK}'`;
    const text = valueText(value).replace(LOGIN, `$1${MASK}`);
    const masked = identity.jwt === '' ? text : text.replaceAll(identity.jwt, MASK);
    return masked.length > MOST_CHARACTERS ? `${masked.slice(0, MOST_CHARACTERS)}…` : masked;
  });
}

/** What must not be shown. */
export interface Masking {
  readonly identity: Identity;
  readonly config: Pick<DbrestConfig, 'settings'>;
  readonly roleSettings: RoleSettings | undefined;
}

function valueText(value: BoundValue): string {
  if (value === null) return 'null';
  const bytes = typeof value === 'string' ? value : Buffer.concat([value].flat()).toString();
  return `'${bytes.replaceAll("'", "''")}'`;
}
