import { dateGmt, dateLocal, timeIso8601, timeLocal } from '../../../log/index.ts';
import { live, seconds } from './reading.ts';
import type { Variables } from './reading.ts';

/** Times. */
export const ofClock: Variables = {
  request_time: live('Seconds since the request came, with milliseconds.', (x) =>
    seconds(Date.now() - x.startedMs),
  ),
  msec: live('Time in seconds with milliseconds.', () => seconds(Date.now())),
  time_local: live('Time in the common log format.', () => timeLocal(Date.now())),
  time_iso8601: live('Time in ISO 8601.', () => timeIso8601(Date.now())),
  date_local: live('Time in words, in the time zone of this machine.', () => dateLocal(Date.now())),
  date_gmt: live('Time in words, in GMT.', () => dateGmt(Date.now())),
};
