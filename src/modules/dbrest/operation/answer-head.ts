import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { Preferences } from '../headers/index.ts';
import { appliedPreferences } from '../headers/index.ts';
import type { ResponseSettings } from '../reply/index.ts';
import type { Asker } from './asker.ts';

/** What the head of an answer says. */
export interface AnswerHead {
  readonly config: DbrestConfig;
  readonly schema: string;
  /** Those that this operation honours. */
  readonly preferences: Preferences;
  /** Headers of this answer alone; one without a value is left out. */
  readonly own: readonly (readonly [name: string, value: string | undefined])[];
  readonly watch: Asker['watch'];
}

/** Sets the headers of an answer. What the database chose itself goes before. */
export function setHead(x: Exchange, chosen: ResponseSettings, head: AnswerHead): void {
  const taken = new Set(chosen.headers.map(([name]) => name.toLowerCase()));
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined && !taken.has(name.toLowerCase())) x.setHeader(name, value);
  };
  for (const [name, value] of chosen.headers) x.setHeader(name, value);
  for (const [name, value] of head.own) set(name, value);
  if (head.config.schemas.length > 1) set('Content-Profile', head.schema);
  set('Preference-Applied', appliedPreferences(head.preferences));
  set('Server-Timing', head.watch?.toString());
}
