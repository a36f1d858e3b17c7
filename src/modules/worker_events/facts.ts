import { constantText } from '../../config/index.ts';
import type { LocationMatch } from '../../contract/index.ts';
import type { WorkerEventsConfig } from './config.ts';

/** What a command needs to know of an endpoint to call it. */
export interface EventsFacts {
  readonly path: string;
  /** Absent: none is needed, or it comes from variables. */
  readonly publishKey?: string;
}

/** `undefined`: the location serves no events, or no path leads to it for certain. */
export function eventsFacts(
  { api, publishKey }: Partial<WorkerEventsConfig>,
  match: LocationMatch | undefined,
): EventsFacts | undefined {
  if (api !== true || (match?.kind !== 'prefix' && match?.kind !== 'exact')) return undefined;
  const key = publishKey && constantText(publishKey);
  return { path: match.path, ...(key !== undefined && { publishKey: key }) };
}
