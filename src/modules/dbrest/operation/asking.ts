import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { Facts, RestDatabase } from '../database.ts';
import {
  type Accepted,
  acceptedMedia,
  chooseSchema,
  honoured,
  type Media,
  parsePreferences,
  type Preferences,
} from '../headers/index.ts';

/** What the headers of a request ask for, checked as far as no table or function has to be known. */
export interface Asked {
  /** Of the allowlist. */
  readonly schema: string;
  readonly accepted: readonly Accepted[];
  readonly preferences: Preferences;
  /** Asked for only where a header needs them. */
  readonly facts: Facts | undefined;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * `Accept-Profile` or `Content-Profile`, `Accept` and `Prefer`. The result throws PGRST106 and PGRST122; a promise only
 * where facts have to be asked for.
 */
export function compileAsking(
  config: DbrestConfig,
  database: RestDatabase,
): (x: Exchange) => Asked | Promise<Asked> {
  const mayChooseEnd = config.txEnd.endsWith('-allow-override');
  return (x) => {
    const profile = READS.has(x.method) ? 'accept-profile' : 'content-profile';
    const schema = chooseSchema(x.header(profile), config.schemas);
    const accepted = acceptedMedia(x.header('accept'));
    const asked = parsePreferences(x.header('prefer'));
    const complete = (facts?: Facts): Asked => {
      const preferences = honoured(asked, { timeZones: facts?.timeZones, tx: mayChooseEnd });
      return { schema, accepted, preferences, facts };
    };
    return needsFacts(accepted, asked) ? database.facts().then(complete) : complete();
  };
}

/** Whether the transaction of a request ends with a rollback: the request's choice where it has one. */
export function rollsBack({ txEnd }: DbrestConfig, { tx }: Preferences): boolean {
  return tx === undefined ? txEnd.startsWith('rollback') : tx === 'rollback';
}

function needsFacts(accepted: readonly Accepted[], { timeZone }: Preferences): boolean {
  const geographic = (media: Media | undefined): boolean =>
    media?.format === 'geojson' || (media?.plan !== undefined && geographic(media.plan.media));
  return timeZone !== undefined || accepted.some(({ media }) => geographic(media));
}
