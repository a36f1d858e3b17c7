const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Caches a text that changes once a second. */
function perSecond(render: (date: Date) => string): (ms: number) => string {
  let second = -1;
  let text = '';
  return (ms) => {
    const now = Math.floor(ms / 1000);
    if (now !== second) [second, text] = [now, render(new Date(now * 1000))];
    return text;
  };
}

/** `20/Nov/2026:16:34:49 +0000`: the common log format. */
export const timeLocal = perSecond(
  (date) =>
    `${two(date.getDate())}/${MONTHS[date.getMonth()]}/${date.getFullYear()}:${clock(date)} ${zone(date, '')}`,
);

/** `2026-11-20T16:34:49+00:00`. */
export const timeIso8601 = perSecond(
  (date) =>
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${clock(date)}${zone(date, ':')}`,
);

const utcSecond = perSecond((date) => date.toISOString().slice(0, -4));

/** `2026-11-20T16:34:49.123Z`: the time in lines of JSON. */
export function timeUtc(ms: number): string {
  return `${utcSecond(ms)}${String(ms % 1000).padStart(3, '0')}Z`;
}

/** `2026/11/20 16:34:49`: the start of an error log line. */
export const errorLogTime = perSecond(
  (date) => `${date.getFullYear()}/${two(date.getMonth() + 1)}/${two(date.getDate())} ${clock(date)}`,
);

/** `Nov 21 00:33:10`, with a blank before a day below ten: the time in syslog messages (RFC 3164, 4.1.2). */
export const syslogTime = perSecond(
  (date) => `${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2, ' ')} ${clock(date)}`,
);

/** `Saturday, 21-Nov-2026 16:34:49 CET`: the default format of SSI in nginx. */
export const dateLocal = perSecond((date) => {
  const day = `${two(date.getDate())}-${MONTHS[date.getMonth()]}-${date.getFullYear()}`;
  return `${DAYS[date.getDay()]}, ${day} ${clock(date)} ${zoneName(date)}`;
});

/** The same format in GMT. */
export const dateGmt = perSecond((date) => {
  const [, day, month, year, time] = date.toUTCString().split(' ');
  return `${DAYS[date.getUTCDay()]}, ${day}-${month}-${year} ${time} GMT`;
});

function zoneName(date: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(date);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

function clock(date: Date): string {
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function zone(date: Date, separator: string): string {
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}${separator}${two(size % 60)}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
