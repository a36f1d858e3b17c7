const KILO = 1024;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

/** Formats a rate with significant digits only: `0`, `0.4`, `12.3`, `1,240`. */
export function rate(value: number): string {
  if (value === 0) return '0';
  if (value < 0.1) return '<0.1';
  return value < 100 ? value.toFixed(1).replace(/\.0$/, '') : count(value);
}

/** `1.4 MB`. */
export function bytes(value: number): string {
  let scaled = value;
  let unit = 0;
  while (scaled >= 1000 && unit < UNITS.length - 1) {
    scaled /= KILO;
    unit++;
  }
  const digits = unit > 0 && scaled < 10 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${UNITS[unit] ?? ''}`;
}

/** Formats seconds as a duration: `0.6 ms`, `48 ms`, `1.2 s`; a dash for `undefined`. */
export function latency(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  const ms = seconds * 1000;
  if (ms < 10) return `${ms.toFixed(1).replace(/\.0$/, '')} ms`;
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${seconds.toFixed(1)} s`;
}

/** `3 h 12 min`. */
export function span(seconds: number): string {
  if (seconds < MINUTE) return `${Math.floor(seconds)} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ${Math.floor((seconds % HOUR) / MINUTE)} min`;
  return `${Math.floor(seconds / DAY)} d ${Math.floor((seconds % DAY) / HOUR)} h`;
}

/** `just now`, `12 s ago`. */
export function ago(atMs: number, nowMs: number): string {
  const seconds = (nowMs - atMs) / 1000;
  return seconds < 3 ? 'just now' : `${span(seconds)} ago`;
}

/** `12.5 %`. */
export function percent(share: number): string {
  if (share === 0) return '0 %';
  if (share < 0.001) return '<0.1 %';
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** Formats a time in the browser's time zone: `16:34:49.120`. */
export function clock(ms: number, withMillis = false): string {
  const date = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withMillis ? `${time}.${String(date.getMilliseconds()).padStart(3, '0')}` : time;
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

const MAX_SHOWN = 200_000;

/** Formats JSON with line breaks; returns other text unchanged. */
export function pretty(text: string): string {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: shown as it is.
  }
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}\n…` : shown;
}
