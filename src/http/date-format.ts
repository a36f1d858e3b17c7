import { stateKey } from './request-state.ts';

/** The formats in which a page shows times, given in milliseconds since the epoch. */
interface DateFormat {
  local(ms: number): string;
  gmt(ms: number): string;
}

/** Value: how `$date_local` and `$date_gmt` of a request look (SSI `config timefmt`). */
export const DATE_FORMAT = stateKey<DateFormat>('format of dates');
