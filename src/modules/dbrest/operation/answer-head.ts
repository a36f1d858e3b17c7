import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import { appliedPreferences, type Preferences } from '../headers/index.ts';
import type { AnswerStart, ResponseSettings } from '../response/index.ts';
import type { Asker } from './asker.ts';

/** What the head of an answer says. */
export interface AnswerHead {
  readonly status: number;
  readonly config: DbrestConfig;
  readonly schema: string;
  /** Those that this operation honours. */
  readonly preferences: Preferences;
  /** Headers of this answer alone; one without a value is left out. */
  readonly own: readonly (readonly [name: string, value: string | undefined])[];
  readonly watch: Asker['watch'];
}

/** Sets the headers of an answer and gives its beginning. What the database chose itself goes before. */
export function setHead(x: Exchange, chosen: ResponseSettings, head: AnswerHead): AnswerStart {
  const taken = new Set(chosen.headers.map(([name]) => name.toLowerCase()));
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined && !taken.has(name.toLowerCase())) x.setHeader(name, value);
  };
  let contentType: string | undefined;
  for (const [name, value] of chosen.headers) {
    if (name.toLowerCase() === 'content-type') contentType = value;
    else x.setHeader(name, value);
  }
  for (const [name, value] of head.own) set(name, value);
  if (head.config.schemas.length > 1) set('Content-Profile', head.schema);
  set('Preference-Applied', appliedPreferences(head.preferences));
  set('Server-Timing', head.watch?.toString());
  return { status: chosen.status ?? head.status, contentType };
}
