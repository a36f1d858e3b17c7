const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994` (RFC 9110, 5.6.7). */
const FORMS = [
  /^[^, ]*, *(?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d)/i,
  /^[^, ]*, *(?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d)/i,
  /^[^, ]* +(?<month>[a-z]{3}) (?<day>[ \d]?\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})/i,
];

/** Seconds since the epoch, or `undefined` for what is no date. Zones are not looked at (nginx: ngx_parse_http_time). */
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

/** Dates that files of a site mostly have; more than these are made again. */
const REMEMBERED = 1_000;

/** Writes dates as HTTP headers have them. Many files share a few: making one costs more than the rest of a small answer. */
export class HttpDates {
  readonly #texts = new Map<number, string>();

  /** `Sun, 06 Nov 1994 08:49:37 GMT` for seconds since the epoch. */
  text(seconds: number): string {
    const known = this.#texts.get(seconds);
    if (known !== undefined) return known;
    const text = new Date(seconds * 1000).toUTCString();
    if (this.#texts.size >= REMEMBERED) this.#texts.clear();
    this.#texts.set(seconds, text);
    return text;
  }
}
