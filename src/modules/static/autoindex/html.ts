import { bytesOf } from './entries.ts';
import type { Entry } from './entries.ts';

/** How dates and sizes show. */
export interface HtmlRules {
  readonly exactSize: boolean;
  readonly localTime: boolean;
  /** Names are counted in characters, else in bytes. */
  readonly utf8: boolean;
}

/** What fits of a name into its column; longer ones are cut. */
const NAME_WIDTH = 50;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const ESCAPES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };

/** The listing as a page (nginx: ngx_http_autoindex_html). */
export function htmlListing(uri: string, entries: readonly Entry[], rules: HtmlRules): string {
  const title = escapeHtml(bytesOf(uri));
  const offsetMs = rules.localTime ? new Date().getTimezoneOffset() * 60_000 : 0;
  const lines = entries.map((entry) => line(entry, { ...rules, offsetMs }));
  return (
    `<html>\r\n<head><title>Index of ${title}</title></head>\r\n<body>\r\n` +
    `<h1>Index of ${title}</h1><hr><pre><a href="../">../</a>\r\n${lines.join('')}</pre><hr></body>\r\n</html>\r\n`
  );
}

/** Markup in text and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[<>&"]/g, (character) => ESCAPES[character] as string);
}

function line(
  entry: Entry,
  { exactSize, utf8, offsetMs }: HtmlRules & { readonly offsetMs: number },
): string {
  const { name, kind, modifiedSeconds, sizeBytes } = entry;
  const slash = kind === 'directory' ? '/' : '';
  const characters = (utf8 && charactersOf(name)) || Array.from(name);
  const free = NAME_WIDTH - characters.length;
  const fits = free > 0 ? slash : '';
  const start = characters.slice(0, NAME_WIDTH - 3).join('');
  const shown = free < 0 ? `${escapeHtml(start)}..&gt;` : escapeHtml(name) + fits;
  const padding = ' '.repeat(Math.max(free - fits.length, 0));
  const size = kind === 'directory' ? '-' : sizeText(sizeBytes, exactSize);
  return `<a href="${escapeName(name)}${slash}">${shown}</a>${padding} ${dateText(modifiedSeconds * 1000 - offsetMs)} ${size.padStart(exactSize ? 19 : 7)}\r\n`;
}

/** The bytes of each character; `undefined` for a name that is not UTF-8. */
function charactersOf(name: string): readonly string[] | undefined {
  const text = Buffer.from(name, 'latin1').toString();
  return bytesOf(text) === name ? Array.from(text, bytesOf) : undefined;
}

/** Everything but letters, digits and `-._~`: a colon would make a name a URL (ngx_escape_uri, URI component). */
function escapeName(name: string): string {
  return name.replace(
    /[^\w.~-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function dateText(ms: number): string {
  const date = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${two(date.getUTCDate())}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()}`;
  return `${day} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
}

/** Smallest size that shows in a unit, and the unit; from half of one on a rest counts as one more. */
const UNITS = [
  [2 ** 30, 2 ** 30, 'G'],
  [2 ** 20, 2 ** 20, 'M'],
  [10_000, 2 ** 10, 'K'],
] as const;

function sizeText(sizeBytes: number, exact: boolean): string {
  if (exact) return String(sizeBytes);
  for (const [from, unit, letter] of UNITS)
    if (sizeBytes >= from) return `${Math.floor((sizeBytes + unit / 2) / unit)}${letter}`;
  return String(sizeBytes);
}
