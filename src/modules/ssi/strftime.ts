const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The parts of a time in one zone. */
interface ZonedTime {
  readonly date: Date;
  readonly isGmt: boolean;
}

type Part = (time: ZonedTime) => string;

const two: (value: number) => string = (value) => String(value).padStart(2, '0');

/** Returns a Date whose UTC fields are those of the zone. */
function fields({ date, isGmt }: ZonedTime): Date {
  return isGmt ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
}

function dayOfYear(time: ZonedTime): number {
  const now = fields(time);
  return Math.floor((now.getTime() - Date.UTC(now.getUTCFullYear(), 0, 1)) / 86_400_000);
}

/** Returns the week of the year, with weeks that begin on `firstDay` (0: Sunday). */
function week(time: ZonedTime, firstDay: number): number {
  return Math.floor((dayOfYear(time) + 7 - ((fields(time).getUTCDay() + 7 - firstDay) % 7)) / 7);
}

const day: Part = (time) => DAYS[fields(time).getUTCDay()] as string;
const month: Part = (time) => MONTHS[fields(time).getUTCMonth()] as string;
const hour12: Part = (time) => two(((fields(time).getUTCHours() + 11) % 12) + 1);

function zone({ date, isGmt }: ZonedTime): string {
  if (isGmt) return '+0000';
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}${two(size % 60)}`;
}

function zoneName({ date, isGmt }: ZonedTime): string {
  if (isGmt) return 'GMT';
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(date);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** The conversions of strftime(3) in the C locale. */
const PARTS: Readonly<Record<string, Part | string>> = {
  '%': () => '%',
  A: day,
  a: (time) => day(time).slice(0, 3),
  B: month,
  b: (time) => month(time).slice(0, 3),
  C: (time) => two(Math.floor(fields(time).getUTCFullYear() / 100)),
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  d: (time) => two(fields(time).getUTCDate()),
  e: (time) => String(fields(time).getUTCDate()).padStart(2, ' '),
  F: '%Y-%m-%d',
  H: (time) => two(fields(time).getUTCHours()),
  h: '%b',
  I: hour12,
  j: (time) => String(dayOfYear(time) + 1).padStart(3, '0'),
  k: (time) => String(fields(time).getUTCHours()).padStart(2, ' '),
  l: (time) => hour12(time).replace(/^0/, ' '),
  M: (time) => two(fields(time).getUTCMinutes()),
  m: (time) => two(fields(time).getUTCMonth() + 1),
  n: () => '\n',
  p: (time) => (fields(time).getUTCHours() < 12 ? 'AM' : 'PM'),
  P: (time) => (fields(time).getUTCHours() < 12 ? 'am' : 'pm'),
  R: '%H:%M',
  r: '%I:%M:%S %p',
  S: (time) => two(fields(time).getUTCSeconds()),
  s: ({ date }) => String(Math.floor(date.getTime() / 1000)),
  T: '%H:%M:%S',
  t: () => '\t',
  U: (time) => two(week(time, 0)),
  u: (time) => String(fields(time).getUTCDay() || 7),
  W: (time) => two(week(time, 1)),
  w: (time) => String(fields(time).getUTCDay()),
  X: '%H:%M:%S',
  x: '%m/%d/%y',
  Y: (time) => String(fields(time).getUTCFullYear()),
  y: (time) => two(fields(time).getUTCFullYear() % 100),
  Z: zoneName,
  z: zone,
};

/** Formats a time as strftime(3) does; unknown conversions are kept. */
export function strftime(format: string, ms: number, isGmt: boolean): string {
  const time = { date: new Date(ms), isGmt };
  return format.replaceAll(/%[EO]?(.)/gs, (whole, letter: string) => {
    const part = Object.hasOwn(PARTS, letter) ? PARTS[letter] : undefined;
    if (part === undefined) return whole;
    return typeof part === 'string' ? strftime(part, ms, isGmt) : part(time);
  });
}
