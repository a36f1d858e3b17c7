import { stateKey } from './request.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994` (RFC 9110, 5.6.7). */
const FORMS = [
  /^[^, ]*, *(?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d)/i,
  /^[^, ]*, *(?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d)/i,
  /^[^, ]* +(?<month>[a-z]{3}) (?<day>[ \d]?\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})/i,
];

/**
 * Returns seconds since the epoch; `undefined` for an invalid date. Ignores time zones (nginx: ngx_parse_http_time).
 */
export function parseHttpDate(text: string): number | undefined {
  const fields = FORMS.map((form) => form.exec(text)?.groups).find(Boolean);
  if (!fields) return undefined;
  const [hour = 0, minute = 0, second = 0] = (fields['time'] as string).split(':').map(Number);
  const day = Number(fields['day']);
  const month = MONTHS.indexOf((fields['month'] as string).toLowerCase());
  const year = fullYear(fields['year'] as string);
  const date = new Date(Date.UTC(year, month, day, hour, minute, second));
  const isReal = month >= 0 && hour < 24 && minute < 60 && second < 60 && date.getUTCDate() === day;
  return isReal && day > 0 ? date.getTime() / 1000 : undefined;
}

function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}

/** The time that `expires=max` stands for in a cookie. nginx has never moved it. */
export const FAR_COOKIE_TIME = 'Thu, 31-Dec-37 23:55:55 GMT';

/** Formats a time this many seconds from now as nginx's ngx_http_cookie_time: `Sat, 21-Nov-26 02:03:21 GMT`. */
export function cookieTime(seconds: number): string {
  const [day, date, month, year = '', time] = new Date(Date.now() + seconds * 1000).toUTCString().split(' ');
  const years = Number(year) > 2037 ? year : year.slice(2);
  return `${day} ${date}-${month}-${years} ${time} GMT`;
}

/** The formats in which a page shows times, given in milliseconds since the epoch. */
interface DateFormat {
  local(ms: number): string;
  gmt(ms: number): string;
}

/** Value: how `$date_local` and `$date_gmt` of a request look (SSI `config timefmt`). */
export const DATE_FORMAT = stateKey<DateFormat>('format of dates');
