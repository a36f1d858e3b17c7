import { dateGmt, dateLocal, timeIso8601, timeLocal } from '../../../log/index.ts';
import { plain, seconds } from './reading.ts';
import type { Variables } from './reading.ts';

/** Times. */
export const ofClock: Variables = {
  request_time: plain('Seconds since the request came, with milliseconds.', (x) =>
    seconds(Date.now() - x.startedMs),
  ),
  msec: plain('Time in seconds with milliseconds.', () => seconds(Date.now())),
  time_local: plain('Time in the common log format.', () => timeLocal(Date.now())),
  time_iso8601: plain('Time in ISO 8601.', () => timeIso8601(Date.now())),
  date_local: plain('Time in words, in the time zone of this machine.', () => dateLocal(Date.now())),
  date_gmt: plain('Time in words, in GMT.', () => dateGmt(Date.now())),
};
